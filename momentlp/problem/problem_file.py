"""Problems on disk: a header and plain arrays, see :mod:`momentlp.formats.container`. Nothing in the file can run code when read."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from momentlp.errors import FileFormatError
from momentlp.features import Concat, FeatureMap, FittedMap, Transformer
from momentlp.formats.container import Arrays, read_container, write_container
from momentlp.formats.sparse_indices import check_sparse_indices
from momentlp.points.arrays import FloatArray, Matrix, is_sparse
from momentlp.points.chunked import load_in_memory
from momentlp.problem.moment_block import MomentBlock
from momentlp.problem.problem import Problem

__all__ = ["load_problem", "pack_problem", "save_problem", "unpack_problem"]

FORMAT = "momentlp-problem"
VERSION = 1
VECTORS = ("origin", "shift", "lower", "upper")
PARTS = ("data", "indices", "indptr")
SCALARS = {"gamma": math.inf, "width": 1e150, "reach": math.inf}  # what maps learn, and what it is below: a width is squared
INDICES = {"node": "embedding"}  # places that maps learn, and of what
FINITE = ("centres", "points", "embedding", "unit", "walk", "reached")
FLOATS = (np.float64, np.float32)


def save_problem(problem: Problem, path: Path) -> None:
    """Write a problem; ``path`` is used as it stands, with no ending added."""
    arrays: Arrays = {}
    header = pack_problem(problem, arrays)
    write_container(path, {"format": FORMAT, "version": VERSION, **header}, arrays)


def load_problem(path: Path) -> Problem:
    """Read a problem back, or say why the file cannot be one."""
    return read_container(path, FORMAT, VERSION, "saved problem", unpack_problem)


def pack_problem(problem: Problem, arrays: Arrays) -> dict[str, Any]:
    """Put the arrays of a problem among others, and return what else there is to say of it."""
    arrays |= {"weights": np.ascontiguousarray(problem.weights), "caps": np.ascontiguousarray(problem.caps)}
    header: dict[str, Any] = {"labelled": problem.labelled is not None, "blocks": []}
    header["population"] = problem.population
    if problem.labelled is not None:
        arrays["labelled"] = problem.labelled
    for number, block in enumerate(problem.blocks):
        key = f"block{number}"
        entry = {
            "names": list(block.names),
            "labels": list(block.labels),
            "width": block.width is not None,
            "widens": block.tolerance_on,
            "fixed": block.fixed,
            "features": _pack(load_in_memory(block.features, "Problem.save"), f"{key}.features", arrays),
            "transform": None if block.transform is None else _pack(block.transform, f"{key}.transform", arrays),
            "fitted": None,
        }
        for field in VECTORS:
            arrays[f"{key}.{field}"] = getattr(block, field)
        if block.width is not None:
            arrays[f"{key}.width"] = block.width
        if block.fitted is not None:
            entry["fitted"] = _pack_fitted(block.fitted, key, arrays)
        header["blocks"].append(entry)
    return header


def unpack_problem(header: Mapping[str, Any], arrays: Arrays) -> Problem:
    """Put a problem together again."""
    blocks = [_block(entry, f"block{number}", arrays) for number, entry in enumerate(header["blocks"])]
    names = [name for block in blocks for name in block.names]
    if len(set(names)) < len(names):
        raise FileFormatError("two moments have the same name")
    labelled = arrays["labelled"] if header["labelled"] else None
    if labelled is not None and labelled.dtype.kind != "i":
        raise FileFormatError("labelled does not hold indices")
    population = header["population"]
    if population is not None and not float(population) >= 0:
        raise FileFormatError(f"its population is {population!r}")
    weights, caps = _vector(arrays, "weights"), _vector(arrays, "caps")
    return Problem(tuple(blocks), weights, caps, labelled, None if population is None else float(population))


def _block(entry: Mapping[str, Any], key: str, arrays: Arrays) -> MomentBlock:
    names, labels = _texts(entry["names"], f"names of {key}"), _texts(entry["labels"], f"labels of {key}")
    features = _unpack(entry["features"], f"{key}.features", arrays)
    transform = None if entry["transform"] is None else _unpack(entry["transform"], f"{key}.transform", arrays)
    vectors = {field: _vector(arrays, f"{key}.{field}") for field in VECTORS}
    k = vectors["origin"].size
    if not names or 0 in features.shape:
        raise FileFormatError(f"{key} is empty")
    if transform is not None and not is_sparse(transform):
        raise FileFormatError(f"{key}.transform is not a sparse matrix")
    width = _vector(arrays, f"{key}.width") if entry["width"] else None
    tolerance_on = entry["widens"]
    if tolerance_on not in ("sum", "mean", None):
        raise FileFormatError(f"{key} cannot widen by {tolerance_on!r}")
    if width is not None and not (width.size == k and (width >= 0).all()):
        raise FileFormatError(f"{key}.width does not hold {k} tolerances")
    if tolerance_on is not None and (width is None or len(labels) != k):
        raise FileFormatError(f"{key} lacks the tolerances or the labels of its features")
    fitted = None if entry["fitted"] is None else _unpack_fitted(entry["fitted"], key, arrays, k)
    return MomentBlock(
        features=features,
        transform=transform,
        names=names,
        labels=labels,
        width=width,
        tolerance_on=tolerance_on,
        fixed=bool(entry.get("fixed", False)),
        fitted=fitted,
        **vectors,
    )


def _texts(values: Any, what: str) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise FileFormatError(f"the {what} are not a list of texts")
    return tuple(values)


def _vector(arrays: Arrays, key: str) -> FloatArray:
    vector = arrays[key]
    if vector.ndim != 1 or vector.dtype.kind not in "biuf":
        raise FileFormatError(f"{key} is not a vector of numbers")
    return np.asarray(vector, dtype=np.float64)


def _pack(matrix: Matrix, key: str, arrays: Arrays) -> dict[str, Any]:
    if not is_sparse(matrix):
        arrays[key] = matrix
        return {"layout": "dense"}
    for part in PARTS:
        arrays[f"{key}.{part}"] = getattr(matrix, part)
    return {"layout": matrix.format, "shape": list(matrix.shape)}


def _unpack(entry: Mapping[str, Any], key: str, arrays: Arrays) -> Matrix:
    if entry["layout"] == "dense":
        return _matrix(arrays[key], key)
    return _sparse(entry["layout"], [arrays[f"{key}.{part}"] for part in PARTS], entry["shape"], key)


def _matrix(array: NDArray[Any], key: str) -> Matrix:
    if array.ndim != 2 or array.dtype not in FLOATS or not np.isfinite(array).all():
        raise FileFormatError(f"{key} is not a finite matrix of floats")
    return array


def _sparse(layout: str, parts: list[NDArray[Any]], shape: Any, key: str) -> Matrix:
    data, indices, indptr = parts
    if data.ndim != 1 or data.dtype not in FLOATS or not np.isfinite(data).all():
        raise FileFormatError(f"{key} is not a finite matrix of floats")
    rows, columns = (operator.index(length) for length in shape)
    build = {"csr": sp.csr_array, "csc": sp.csc_array}[layout]
    check_sparse_indices(layout, indices, indptr, (rows, columns), data.size)
    return build((data, indices, indptr), shape=(rows, columns))


def _pack_fitted(fitted: FittedMap, key: str, arrays: Arrays) -> dict[str, Any]:
    if fitted.model is not None:
        raise FileFormatError(
            f"the fitted {type(fitted.model).__name__} of this problem cannot be saved without a pickle: "
            "save the spec and the data instead, and compile again."
        )
    for name, array in fitted.state.items():
        arrays[f"{key}.state.{name}"] = np.asarray(array)
    return {
        "declared": fitted.declared.model_dump(mode="json"),
        "inputs": list(fitted.inputs),
        "names": list(fitted.names),
        "named_inputs": fitted.named_inputs,
    }


def _unpack_fitted(entry: Mapping[str, Any], key: str, arrays: Arrays, k: int) -> FittedMap:
    prefix = f"{key}.state."
    state = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    inputs, names = _texts(entry["inputs"], f"inputs of {key}"), _texts(entry["names"], f"features of {key}")
    declared = FeatureMap.parse(entry["declared"])
    if isinstance(declared, (Concat, Transformer)):
        raise FileFormatError(f"a fitted {type(declared).__name__} is never saved")
    if not inputs or len(names) != k:
        raise FileFormatError(f"{key} has {k} features, but its map names {len(names)}")
    _check_state(declared, state, len(inputs), k)
    return FittedMap(declared, inputs, names, state, bool(entry["named_inputs"]))


def _check_state(declared: FeatureMap, state: Arrays, d: int, k: int) -> None:
    """Check what a map learned: every sparse matrix in it, and for the maps of momentlp that all is there and fits."""
    shapes = {name: array.shape for name, array in state.items()}
    for name in [name.removesuffix(".indptr") for name in state if name.endswith(".indptr")]:
        parts = [state[f"{name}.{part}"] for part in PARTS]
        matrix = _sparse("csr", parts, state[f"{name}.shape"].tolist(), name)
        shapes.setdefault(name, matrix.shape)
    expected = declared.state_shapes(shapes, d, k)
    for name, shape in expected.items():
        if shapes.get(name) != shape or 0 in shape:
            raise FileFormatError(f"state {name!r} of a {declared.kind} map has not the shape {shape}")
        if name in state and state[name].dtype.kind != ("i" if name in INDICES else "f"):
            raise FileFormatError(f"state {name!r} of a {declared.kind} map does not hold numbers")
        if name in FINITE and name in state and not np.isfinite(state[name]).all():
            raise FileFormatError(f"state {name!r} of a {declared.kind} map is not finite")
        if name in INDICES and not ((state[name] >= 0) & (state[name] < shapes[INDICES[name]][0])).all():
            raise FileFormatError(f"state {name!r} of a {declared.kind} map points beyond its {INDICES[name]}")
        if name in SCALARS and not 0 <= float(state[name]) < SCALARS[name]:
            raise FileFormatError(f"state {name!r} of a {declared.kind} map is {state[name]}")
