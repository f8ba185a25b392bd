"""Problems on disk: a ``.npz`` of plain arrays, one JSON header and a digest. Nothing in it can run code when read.

The digest (SHA-256 over every array and the header) tells a file that was cut short or changed from a whole one. It is no
signature: whoever changes a file on purpose can write a new digest, so everything behind it is checked as well.
"""

from __future__ import annotations

import hashlib
import json
import math
import operator
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from momentlp.arrays import FloatArray, Matrix, check_compressed, is_sparse
from momentlp.chunks import in_memory
from momentlp.errors import FileFormatError, MomentLPError
from momentlp.features import Concat, FeatureMap, FittedMap, Kernel, Linear, Quadratic, Spectral, Transformer
from momentlp.files import BROKEN, reason, write_atomically
from momentlp.moments import MomentBlock
from momentlp.npz import array_bytes, array_layout, npz_members, read_npy
from momentlp.plain import parse_json
from momentlp.problem import Problem

__all__ = ["load_problem", "save_problem"]

FORMAT = "momentlp-problem"
VERSION = 1
VECTORS = ("origin", "shift", "lower", "upper")
PARTS = ("data", "indices", "indptr")
LONGEST_HEADER = 1 << 28  # bytes; the names of a few million moments fit
SCALARS = {"gamma": math.inf, "width": 1e150}  # numbers that maps learn, and what they are below: a width is squared
END_OF_ZIP, END_SIZE = b"PK\x05\x06", 22  # what a zip file without a comment ends with

FLOATS = (np.float64, np.float32)

Arrays = dict[str, NDArray[Any]]


def save_problem(problem: Problem, path: Path) -> None:
    """Write a problem; ``path`` is used as it stands, with no ending added."""
    arrays: Arrays = {"weights": np.ascontiguousarray(problem.weights), "caps": np.ascontiguousarray(problem.caps)}
    header: dict[str, Any] = {"format": FORMAT, "version": VERSION, "labelled": problem.labelled is not None, "blocks": []}
    header["population"] = problem.population
    if problem.labelled is not None:
        arrays["labelled"] = problem.labelled
    for number, block in enumerate(problem.blocks):
        key = f"block{number}"
        entry = {
            "names": list(block.names),
            "labels": list(block.labels),
            "width": block.width is not None,
            "widens": block.widens,
            "features": _pack(in_memory(block.features, "Problem.save"), f"{key}.features", arrays),
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
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    arrays["digest"] = _digest(arrays)
    plain: dict[str, Any] = dict(arrays)
    write_atomically(path, lambda stream: np.savez(stream, **plain))


def load_problem(path: Path) -> Problem:
    """Read a problem back, or say why the file cannot be one."""
    try:
        with path.open("rb") as stream:
            arrays, digest = _read_arrays(stream)
        return _problem(arrays, digest)
    except FileNotFoundError:
        raise FileFormatError(f"there is no file {str(path)!r}.") from None
    except (MomentLPError, *BROKEN) as error:
        raise FileFormatError(f"{str(path)!r} is not a whole saved problem of momentlp: {reason(error)}.") from error


def _digest(arrays: Arrays) -> NDArray[np.uint8]:
    """Return the SHA-256 of names, types, shapes and bytes, one array after the other as they will stand in the file."""
    digest = hashlib.sha256()
    for key, array in arrays.items():
        try:
            layout = array_layout(array)
        except FileFormatError as error:
            raise FileFormatError(
                f"{key} cannot be saved without a pickle, since {error}: keep plain arrays in state."
            ) from None
        digest.update(_title(key))
        digest.update(layout)
        digest.update(array_bytes(array))
    return np.frombuffer(digest.digest(), dtype=np.uint8)


def _title(key: str) -> bytes:
    return json.dumps(key).encode()  # quoted, so that no name can pass for a name and a layout


def _read_arrays(stream: IO[bytes]) -> tuple[Arrays, bytes]:
    """Read every array once, and the digest of all but the digest itself on the way."""
    if stream.read(2) != b"PK":
        raise FileFormatError("it is not a .npz that Problem.save wrote")
    stream.seek(-min(END_SIZE, stream.seek(0, os.SEEK_END)), os.SEEK_END)
    end = stream.read()
    if not end.startswith(END_OF_ZIP) or end[-2:] != bytes(2):
        raise FileFormatError("it is cut short, or something was added to it")
    arrays: Arrays = {}
    digest = hashlib.sha256()
    for key, content, size in npz_members(stream, compressed=False):
        if key == "header" and size > LONGEST_HEADER:
            raise FileFormatError(f"its header takes {size} bytes")
        if key == "digest":
            arrays[key] = read_npy(content, size)
        else:
            digest.update(_title(key))
            arrays[key] = read_npy(content, size, digest.update)
    return arrays, digest.digest()


def _problem(arrays: Arrays, digest: bytes) -> Problem:
    """Put a problem together; the version comes before the digest, so that a file of a later momentlp is told as such."""
    if "header" not in arrays:
        raise FileFormatError("it is a .npz, but not one that Problem.save wrote")
    header = parse_json(arrays["header"].tobytes(), names_only=True)
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise FileFormatError("it is a .npz, but not one that Problem.save wrote")
    if header.get("version") != VERSION:
        raise FileFormatError(f"it has format version {header.get('version')!r}; this momentlp reads {VERSION}. Upgrade it")
    if "digest" not in arrays or arrays["digest"].tobytes() != digest:
        raise FileFormatError("it was changed since it was saved (its digest does not fit)")
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
    widens = entry["widens"]
    if widens not in ("sum", "mean", None):
        raise FileFormatError(f"{key} cannot widen by {widens!r}")
    if width is not None and not (width.size == k and (width >= 0).all()):
        raise FileFormatError(f"{key}.width does not hold {k} tolerances")
    if widens is not None and (width is None or len(labels) != k):
        raise FileFormatError(f"{key} lacks the tolerances or the labels of its features")
    fitted = None if entry["fitted"] is None else _unpack_fitted(entry["fitted"], key, arrays, k)
    return MomentBlock(
        features=features,
        transform=transform,
        names=names,
        labels=labels,
        width=width,
        widens=widens,
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
    check_compressed(layout, indices, indptr, (rows, columns), data.size)
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
    n = next((shapes[name][0] for name in ("centres", "points") if shapes.get(name)), 0)
    expected: dict[str, tuple[int, ...]] = {}
    if isinstance(declared, (Linear, Quadratic)) and declared.standardise:
        expected = {"spread": (k,)}
    elif isinstance(declared, Kernel):
        expected = {"centres": (n, d)}
        expected |= {name: shape for name, shape in {"gamma": (), "whiten": (k, n)}.items() if name in shapes}
    elif isinstance(declared, Spectral):
        n = max(n, declared.n_neighbors)
        expected = {"points": (n, d), "embedding": (n, k), "eigenvalues": (k,), "width": ()}
    for name, shape in expected.items():
        if shapes.get(name) != shape or 0 in shape:
            raise FileFormatError(f"state {name!r} of a {declared.kind} map has not the shape {shape}")
        if name in state and state[name].dtype.kind != "f":
            raise FileFormatError(f"state {name!r} of a {declared.kind} map does not hold numbers")
        if name in ("centres", "points") and name in state and not np.isfinite(state[name]).all():
            raise FileFormatError(f"state {name!r} of a {declared.kind} map is not finite")
        if name in SCALARS and not 0 <= float(state[name]) < SCALARS[name]:
            raise FileFormatError(f"state {name!r} of a {declared.kind} map is {state[name]}")
