"""Problems in files: a header and plain arrays, see :mod:`momentlp.formats.container`. Reading a file never runs code of it.

Names in the header are part of the file format and stay as they are: ``widens`` is ``MomentBlock.tolerance_on``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentlp.errors import FileFormatError
from momentlp.features import FeatureMap, FittedMap, check_state_array, state_shapes
from momentlp.formats.container import Arrays, read_container, write_container
from momentlp.formats.sparse_indices import SPARSE_PARTS, build_sparse
from momentlp.points.arrays import FloatArray, Matrix, is_sparse
from momentlp.points.chunked import load_in_memory
from momentlp.problem.moment_block import MomentBlock
from momentlp.problem.problem import Problem

__all__ = ["load_problem", "pack_problem", "save_problem", "unpack_problem"]

FORMAT = "momentlp-problem"
VERSION = 2
VERSION_WITHOUT_WHOLE = 1  # of problems without memberships that must be integers: older readers know it
VECTORS = ("origin", "shift", "lower", "upper")  # fields of a block that are arrays of one dimension


def save_problem(problem: Problem, path: Path) -> None:
    """Write a problem to ``path``; no ending is added to the name."""
    arrays: Arrays = {}
    header = pack_problem(problem, arrays)
    version = VERSION if problem.is_whole else VERSION_WITHOUT_WHOLE
    write_container(path, {"format": FORMAT, "version": version, **header}, arrays)


def load_problem(path: Path) -> Problem:
    """Read a problem, or raise FileFormatError with the reason why the file is not one."""
    return read_container(path, FORMAT, VERSION, "saved problem", unpack_problem)


def pack_problem(problem: Problem, arrays: Arrays) -> dict[str, Any]:
    """Add the arrays of a problem to ``arrays``, and return the rest of it as a header."""
    arrays |= {"weights": np.ascontiguousarray(problem.weights), "caps": np.ascontiguousarray(problem.caps)}
    header: dict[str, Any] = {"labelled": problem.labelled is not None, "blocks": []}
    header["population"] = problem.population
    if problem.is_whole:
        header["whole"] = True
        arrays["whole"] = np.ascontiguousarray(problem.whole)
    if problem.labelled is not None:
        arrays["labelled"] = problem.labelled
    for number, block in enumerate(problem.blocks):
        key = f"block{number}"
        entry = {
            "names": list(block.names),
            "labels": list(block.labels),
            "width": block.width is not None,
            "widens": block.tolerance_on,
            "side": block.side,
            "fixed": block.fixed,
            "features": _pack_matrix(load_in_memory(block.features, "Problem.save"), f"{key}.features", arrays),
            "transform": None if block.transform is None else _pack_matrix(block.transform, f"{key}.transform", arrays),
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
    """Build the problem of a header and arrays that :func:`pack_problem` made."""
    blocks = [_unpack_block(entry, f"block{number}", arrays) for number, entry in enumerate(header["blocks"])]
    names = [name for block in blocks for name in block.names]
    if len(set(names)) < len(names):
        raise FileFormatError("two moments have the same name")
    labelled = arrays["labelled"] if header["labelled"] else None
    if labelled is not None and labelled.dtype.kind != "i":
        raise FileFormatError("labelled does not hold indices")
    population = header["population"]
    if population is not None and not float(population) >= 0:
        raise FileFormatError(f"its population is {population!r}")
    weights, caps = _check_vector(arrays, "weights"), _check_vector(arrays, "caps")
    whole = arrays["whole"] if header.get("whole") else False
    return Problem(tuple(blocks), weights, caps, labelled, None if population is None else float(population), whole)


def _unpack_block(entry: Mapping[str, Any], key: str, arrays: Arrays) -> MomentBlock:
    names, labels = _check_texts(entry["names"], f"names of {key}"), _check_texts(entry["labels"], f"labels of {key}")
    features = _unpack_matrix(entry["features"], f"{key}.features", arrays)
    transform = None if entry["transform"] is None else _unpack_matrix(entry["transform"], f"{key}.transform", arrays)
    vectors = {field: _check_vector(arrays, f"{key}.{field}") for field in VECTORS}
    k = vectors["origin"].size
    if not names or 0 in features.shape:
        raise FileFormatError(f"{key} is empty")
    if transform is not None and not is_sparse(transform):
        raise FileFormatError(f"{key}.transform is not a sparse matrix")
    width = _check_vector(arrays, f"{key}.width") if entry["width"] else None
    tolerance_on = entry["widens"]
    if tolerance_on not in ("sum", "mean", None):
        raise FileFormatError(f"{key} has a tolerance on {tolerance_on!r}, not on 'sum' or 'mean'")
    side = entry.get("side", "both")  # files of version 0.1 have no sides
    if side not in ("both", "lower", "upper"):
        raise FileFormatError(f"{key} has the side {side!r:.40}, not 'both', 'lower' or 'upper'")
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
        side=side,
        fixed=bool(entry.get("fixed", False)),
        fitted=fitted,
        **vectors,
    )


def _check_texts(values: Any, what: str) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise FileFormatError(f"the {what} are not a list of strings")
    return tuple(values)


def _check_vector(arrays: Arrays, key: str) -> FloatArray:
    vector = arrays[key]
    if vector.ndim != 1 or vector.dtype.kind not in "biuf":
        raise FileFormatError(f"{key} is not a one-dimensional array of numbers")
    return np.asarray(vector, dtype=np.float64)


def _pack_matrix(matrix: Matrix, key: str, arrays: Arrays) -> dict[str, Any]:
    if not is_sparse(matrix):
        arrays[key] = matrix
        return {"layout": "dense"}
    for part in SPARSE_PARTS:
        arrays[f"{key}.{part}"] = getattr(matrix, part)
    return {"layout": matrix.format, "shape": list(matrix.shape)}


def _unpack_matrix(entry: Mapping[str, Any], key: str, arrays: Arrays) -> Matrix:
    if entry["layout"] == "dense":
        return _check_matrix(arrays[key], key)
    return build_sparse(entry["layout"], [arrays[f"{key}.{part}"] for part in SPARSE_PARTS], entry["shape"], key)


def _check_matrix(array: NDArray[Any], key: str) -> Matrix:
    if array.ndim != 2 or array.dtype not in (np.float64, np.float32) or not np.isfinite(array).all():
        raise FileFormatError(f"{key} is not a finite matrix of floats")
    return array


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
    inputs, names = _check_texts(entry["inputs"], f"inputs of {key}"), _check_texts(entry["names"], f"features of {key}")
    declared = FeatureMap.parse(entry["declared"])
    if not declared.is_savable:
        raise FileFormatError(f"a fitted {type(declared).__name__} is never saved")
    if not inputs or len(names) != k:
        raise FileFormatError(f"{key} has {k} features, but its map names {len(names)}")
    _check_state(declared, state, len(inputs), k)
    return FittedMap(declared, inputs, names, state, bool(entry["named_inputs"]))


def _check_state(declared: FeatureMap, state: Arrays, d: int, k: int) -> None:
    """Check the arrays of a fitted map: every sparse matrix, and all that the map declares."""
    shapes = state_shapes(state)
    for name, layout in declared.state_layout(shapes, d, k).items():
        check_state_array(name, layout, state, shapes, f"the {declared.kind} map")
