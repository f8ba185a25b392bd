"""Features of points that are read in chunks: computed chunk by chunk when they are needed, and never kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from momentlp.errors import CompileError
from momentlp.points.arrays import IndexArray, is_sparse
from momentlp.points.validation import as_floats

if TYPE_CHECKING:
    from momentlp.features import FittedMap
from momentlp.points.chunked import ChunkArguments, Chunked, Floats, Result

__all__ = ["ChunkedFeatures", "map_chunk"]


@dataclass(frozen=True)
class _ChunkMap:
    """A fitted map that takes chunks: a :class:`~momentlp.points.chunked.RowMap`."""

    fitted: FittedMap

    @property
    def n_columns(self) -> int:
        return len(self.fitted.names)

    @property
    def description(self) -> str:
        return _description(self.fitted)

    def __call__(self, chunk: Floats) -> Floats:
        return map_chunk(self.fitted, chunk)


class ChunkedFeatures(Chunked):
    """Features of the points of another table, computed chunk by chunk whenever they are needed and never kept.

    Parameters
    ----------
    points : Chunked
    fitted : FittedMap
        Of a map that works point by point.
    """

    def __init__(self, points: Chunked, fitted: FittedMap) -> None:
        self.points = points
        self.fitted = fitted
        self.row_map = _ChunkMap(fitted)
        width = len(fitted.names)
        super().__init__((points.shape[0], width), map_chunk(fitted, points.first).dtype, points.spans, fitted.names)

    @property
    def source(self) -> Chunked:
        """The table that is read."""
        return self.points.source

    @property
    def remote(self) -> bool:  # type: ignore[override]  # read-only here, as the points decide
        """Whether the points are on a cluster."""
        return self.points.remote

    def read(self, span: slice) -> Floats:
        """Compute the features of one chunk."""
        return map_chunk(self.fitted, self.points.read(span))

    def __getitem__(self, rows: slice | IndexArray) -> Floats:
        """Return the features of some points."""
        return map_chunk(self.fitted, self.points[rows])

    def chosen(self, places: Sequence[int], work: Callable[..., Result], *pieces: ChunkArguments) -> Iterator[Result]:
        """Map the points where they are read, on the workers of a cluster too."""
        return self.points.chosen(places, partial(_on_mapped, self.fitted, work), *pieces)


def map_chunk(fitted: FittedMap | None, chunk: Floats) -> Floats:
    """Return the features of a chunk of points, dense; the points themselves without a map."""
    if fitted is None:
        return chunk
    with np.errstate(over="ignore", invalid="ignore"):  # what comes of it is seen by summarise
        features = fitted.declared.transform(chunk, fitted)
    name = _description(fitted)
    features = as_floats(features.toarray() if is_sparse(features) else features, name)
    if features.shape != (chunk.shape[0], len(fitted.names)):
        raise CompileError(f"{name} has shape {features.shape}, not {(chunk.shape[0], len(fitted.names))}.")
    return features


def _description(fitted: FittedMap) -> str:
    return f"what {type(fitted.declared).__name__}.transform returned"


def _on_mapped(fitted: FittedMap, work: Callable[..., Result], chunk: Floats, *pieces: Any) -> Result:
    return work(map_chunk(fitted, chunk), *pieces)
