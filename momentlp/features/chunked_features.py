"""Features of points that are read in chunks: computed chunk by chunk when they are read, and not kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from momentlp.errors import CompileError
from momentlp.points.arrays import IndexArray, is_sparse
from momentlp.points.chunked import ChunkArguments, Chunked, Floats, Result
from momentlp.points.validation import as_floats

if TYPE_CHECKING:
    from momentlp.features import FittedMap

__all__ = ["ChunkedFeatures", "map_chunk"]


@dataclass(frozen=True)
class _ChunkMap:
    """A fitted map of chunks: a :class:`~momentlp.points.chunked.RowMap`."""

    fitted: FittedMap

    @property
    def n_columns(self) -> int:
        return len(self.fitted.names)

    @property
    def description(self) -> str:
        return _describe_features(self.fitted)

    def __call__(self, chunk: Floats) -> Floats:
        return map_chunk(self.fitted, chunk)


class ChunkedFeatures(Chunked):
    """Features of the points of another table, computed chunk by chunk when they are read, and not kept.

    Parameters
    ----------
    points : Chunked
    fitted : FittedMap
        Fitted from a map that works point by point.
    """

    def __init__(self, points: Chunked, fitted: FittedMap) -> None:
        self.points = points
        self.fitted = fitted
        self.row_map = _ChunkMap(fitted)
        width = len(fitted.names)
        super().__init__((points.shape[0], width), map_chunk(fitted, points.first_row).dtype, points.spans, fitted.names)

    @property
    def source(self) -> Chunked:
        """The table that is read."""
        return self.points.source

    @property
    def remote(self) -> bool:  # type: ignore[override]  # read-only here: it is that of the points
        """Whether the points are on a cluster."""
        return self.points.remote

    def read(self, span: slice) -> Floats:
        """Compute the features of one chunk."""
        return map_chunk(self.fitted, self.points.read(span))

    def __getitem__(self, rows: slice | IndexArray) -> Floats:
        """Return the features of some points."""
        return map_chunk(self.fitted, self.points[rows])

    def scan_selected(self, chunks: Sequence[int], work: Callable[..., Result], *pieces: ChunkArguments) -> Iterator[Result]:
        """Run ``work`` on the features of some chunks, computed where the points are read."""
        return self.points.scan_selected(chunks, partial(_map_and_work, self.fitted, work), *pieces)


def map_chunk(fitted: FittedMap | None, chunk: Floats) -> Floats:
    """Return the features of a chunk of points as a dense array; without a map, the points themselves."""
    if fitted is None:
        return chunk
    with np.errstate(over="ignore", invalid="ignore"):  # summarise finds what is not finite
        features = fitted.declared.transform(chunk, fitted)
    name = _describe_features(fitted)
    features = as_floats(features.toarray() if is_sparse(features) else features, name)
    if features.shape != (chunk.shape[0], len(fitted.names)):
        raise CompileError(f"{name} has shape {features.shape}, not {(chunk.shape[0], len(fitted.names))}.")
    return features


def _describe_features(fitted: FittedMap) -> str:
    return f"what {type(fitted.declared).__name__}.transform returned"


def _map_and_work(fitted: FittedMap, work: Callable[..., Result], chunk: Floats, *pieces: Any) -> Result:
    return work(map_chunk(fitted, chunk), *pieces)
