"""What a fitted map keeps: plain arrays by name, and the layout that each must have when it is read from a file.

A saved problem holds the state of its maps. The file may be damaged, or somebody may have changed it on purpose, so every
array is checked before a map uses it. Each map declares the layout of its own arrays, see
:meth:`FeatureMap.state_layout <momentlp.FeatureMap.state_layout>`.

A sparse matrix is kept as four arrays: ``points.data``, ``points.indices``, ``points.indptr`` and ``points.shape``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from momentlp.errors import FileFormatError
from momentlp.formats.sparse_indices import SPARSE_PARTS, build_sparse
from momentlp.points.arrays import Matrix, is_sparse

__all__ = ["Shapes", "StateArray", "check_state_array", "pack_matrix", "state_shapes", "unpack_matrix"]

Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class StateArray:
    """The layout of one array of a map's state.

    Attributes
    ----------
    shape : tuple of int
        The shape it must have. No dimension may be zero.
    finite : bool
        Whether every entry must be finite.
    below : float, optional
        For a single number: it must be at least 0 and below this.
    rows_of : str, optional
        The name of another array. Then the entries are integers, and each is a row index of that array.
    """

    shape: tuple[int, ...]
    finite: bool = False
    below: float | None = None
    rows_of: str | None = None


def pack_matrix(matrix: Matrix, key: str) -> dict[str, NDArray[Any]]:
    """Return a matrix, dense or sparse, as plain arrays for the state of a map."""
    if not is_sparse(matrix):
        return {key: np.asarray(matrix)}
    matrix = sp.csr_array(matrix)
    return {f"{key}.{part}": getattr(matrix, part) for part in SPARSE_PARTS} | {f"{key}.shape": np.array(matrix.shape)}


def unpack_matrix(state: Mapping[str, NDArray[Any]], key: str) -> Matrix:
    """Return a matrix that :func:`pack_matrix` took apart."""
    if key in state:
        return state[key]
    return sp.csr_array(tuple(state[f"{key}.{part}"] for part in SPARSE_PARTS), shape=tuple(state[f"{key}.shape"]))


def state_shapes(state: Mapping[str, NDArray[Any]]) -> dict[str, tuple[int, ...]]:
    """Return the shape of every array and of every sparse matrix of a state that comes from a file.

    Raises
    ------
    FileFormatError, DataError
        If a sparse matrix is damaged: see :func:`~momentlp.formats.sparse_indices.build_sparse`.
    KeyError
        If a part of a sparse matrix is missing.
    """
    shapes: dict[str, tuple[int, ...]] = {name: array.shape for name, array in state.items()}
    for name in [name.removesuffix(".indptr") for name in state if name.endswith(".indptr")]:
        parts = [state[f"{name}.{part}"] for part in SPARSE_PARTS]
        matrix = build_sparse("csr", parts, state[f"{name}.shape"].tolist(), name)
        shapes.setdefault(name, matrix.shape)
    return shapes


def check_state_array(name: str, layout: StateArray, state: Mapping[str, NDArray[Any]], shapes: Shapes, owner: str) -> None:
    """Check one array of a state that comes from a file.

    Parameters
    ----------
    name : str
        The array.
    layout : StateArray
        What its map declares.
    state, shapes : mapping
        All arrays of the state, and their shapes from :func:`state_shapes`.
    owner : str
        What the map is called in a message.

    Raises
    ------
    FileFormatError
        If the array is missing or is not as declared.
    """
    if shapes.get(name) != layout.shape or 0 in layout.shape:
        raise FileFormatError(f"array {name!r} of {owner} does not have the shape {layout.shape}")
    if name not in state:
        return  # a sparse matrix, which state_shapes has checked
    array = state[name]
    if array.dtype.kind != ("f" if layout.rows_of is None else "i"):
        expected = "floats" if layout.rows_of is None else "integers"
        raise FileFormatError(f"array {name!r} of {owner} holds {array.dtype} values, not {expected}")
    if layout.finite and not np.isfinite(array).all():
        raise FileFormatError(f"array {name!r} of {owner} is not finite")
    if layout.rows_of is not None and not ((array >= 0) & (array < shapes[layout.rows_of][0])).all():
        raise FileFormatError(f"array {name!r} of {owner} holds an index that {layout.rows_of!r} has no row for")
    if layout.below is not None and not 0 <= float(array) < layout.below:
        raise FileFormatError(f"array {name!r} of {owner} is {array}, not a number of at least 0 and below {layout.below:g}")
