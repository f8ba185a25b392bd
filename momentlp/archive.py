"""Problems on disk: a ``.npz`` of plain arrays and one JSON header. Nothing in it can run code when read."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from momentlp.arrays import Matrix, is_sparse
from momentlp.errors import FileFormatError, MomentLPError
from momentlp.features import FeatureMap, FittedMap
from momentlp.files import write_atomically
from momentlp.moments import MomentBlock
from momentlp.problem import Problem

__all__ = ["load_problem", "save_problem"]

FORMAT = "momentlp-problem"
VERSION = 1
VECTORS = ("origin", "shift", "lower", "upper")

Arrays = dict[str, NDArray[Any]]


def save_problem(problem: Problem, path: Path) -> None:
    """Write a problem; ``path`` is used as it stands, with no ending added."""
    arrays: Arrays = {"weights": problem.weights, "caps": problem.caps}
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
            "features": _pack(block.features, f"{key}.features", arrays),
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
    for key, array in arrays.items():
        if array.dtype.hasobject:
            raise FileFormatError(
                f"{key} holds objects, which cannot be saved without a pickle: keep plain arrays in state."
            )
    plain: dict[str, Any] = dict(arrays)
    write_atomically(path, lambda stream: np.savez(stream, **plain))


def load_problem(path: Path) -> Problem:
    """Read a problem back, or say why the file cannot be one."""
    try:
        with path.open("rb") as stream:
            if stream.read(2) != b"PK":
                raise FileFormatError(f"{str(path)!r} is not a saved problem of momentlp (a .npz that Problem.save wrote).")
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
        if "header" not in arrays:
            raise FileFormatError(f"{str(path)!r} is a .npz, but not one that Problem.save wrote.")
        header = json.loads(arrays["header"].tobytes())
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise FileFormatError(f"{str(path)!r} is not a saved problem of momentlp.")
        if header.get("version") != VERSION:
            raise FileFormatError(
                f"{str(path)!r} has format version {header.get('version')!r}; this momentlp reads {VERSION}. Upgrade it."
            )
        blocks = [_block(entry, f"block{number}", arrays) for number, entry in enumerate(header["blocks"])]
        labelled = arrays["labelled"] if header["labelled"] else None
        population = None if header["population"] is None else float(header["population"])
        return Problem(tuple(blocks), arrays["weights"], arrays["caps"], labelled, population)
    except FileNotFoundError:
        raise FileFormatError(f"there is no file {str(path)!r}.") from None
    except FileFormatError:
        raise
    except (
        MomentLPError, OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, IndexError,
        RuntimeError, zipfile.BadZipFile, zlib.error,
        NotImplementedError,  # what zipfile raises for a compression it does not know
    ) as error:  # fmt: skip
        raise FileFormatError(f"{str(path)!r} is not a whole saved problem of momentlp: {error}.") from error


def _block(entry: Mapping[str, Any], key: str, arrays: Arrays) -> MomentBlock:
    for field in ("names", "labels"):
        if not isinstance(entry[field], list) or not all(isinstance(name, str) for name in entry[field]):
            raise FileFormatError(f"the {field} of {key} are not a list of texts.")
    if entry["widens"] not in ("sum", "mean", None):
        raise FileFormatError(f"{key} cannot widen by {entry['widens']!r}.")
    return MomentBlock(
        features=_unpack(entry["features"], f"{key}.features", arrays),
        transform=None if entry["transform"] is None else _unpack(entry["transform"], f"{key}.transform", arrays),
        names=tuple(entry["names"]),
        labels=tuple(entry["labels"]),
        width=np.asarray(arrays[f"{key}.width"], dtype=np.float64) if entry["width"] else None,
        widens=entry["widens"],
        fitted=None if entry["fitted"] is None else _unpack_fitted(entry["fitted"], key, arrays),
        **{field: np.asarray(arrays[f"{key}.{field}"], dtype=np.float64) for field in VECTORS},
    )


def _pack(matrix: Matrix, key: str, arrays: Arrays) -> dict[str, Any]:
    if not is_sparse(matrix):
        arrays[key] = matrix
        return {"layout": "dense"}
    for part in ("data", "indices", "indptr"):
        arrays[f"{key}.{part}"] = getattr(matrix, part)
    return {"layout": matrix.format, "shape": list(matrix.shape)}


def _unpack(entry: Mapping[str, Any], key: str, arrays: Arrays) -> Matrix:
    layouts = {"csr": sp.csr_array, "csc": sp.csc_array}
    if entry["layout"] == "dense":
        matrix: Matrix = arrays[key]
        values = matrix
    else:
        parts = tuple(arrays[f"{key}.{part}"] for part in ("data", "indices", "indptr"))
        matrix = layouts[entry["layout"]](parts, shape=tuple(entry["shape"]))
        matrix.check_format(full_check=True)
        values = matrix.data
    if matrix.ndim != 2 or values.dtype not in (np.float64, np.float32) or not np.isfinite(values).all():
        raise FileFormatError(f"{key} is not a finite matrix of floats.")
    return matrix


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


def _unpack_fitted(entry: Mapping[str, Any], key: str, arrays: Arrays) -> FittedMap:
    prefix = f"{key}.state."
    state = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    inputs, names = tuple(entry["inputs"]), tuple(entry["names"])
    return FittedMap(FeatureMap.parse(entry["declared"]), inputs, names, state, bool(entry["named_inputs"]))
