"""Points in a dask array: on the threads of this process, or on the workers of a cluster, next to the data.

With a ``dask.distributed`` client in use, a chunk never comes here. Out goes what is to be done with it, once for all
chunks of a pass, and the piece of each vector that belongs to it, packed; back comes the result. A worker that dies loses
nothing: the scheduler has its chunks computed again from their source, elsewhere, and what comes back is put together in
the order of the rows, whoever computed it.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from momentlp.errors import DataError
from momentlp.points.chunked import ChunkArguments, Chunked, Result
from momentlp.points.sources import check_layout
from momentlp.points.validation import as_floats

__all__ = ["Dask"]

RETRIES = 3  # of a task that fails, such as one whose file server had a bad moment


class Dask(Chunked):
    """A dask array, chunked along its rows as it is.

    Without a client its chunks are computed by dask's scheduler in this process, as many at a time as there are processors.
    """

    def __init__(self, array: Any, argument: str = "X") -> None:
        if not hasattr(array, "to_delayed") or hasattr(array, "columns"):
            raise DataError(
                f"{argument} is a dask {type(array).__name__}, but a dask array is needed: use "
                f"{argument}.to_dask_array(lengths=True)."
            )
        if np.isnan([size for sizes in array.chunks for size in sizes]).any():
            raise DataError(f"{argument} has chunks of unknown size: call {argument}.compute_chunk_sizes() first.")
        check_layout(array, argument)
        if len(array.chunks[1]) > 1:
            array = array.rechunk({1: -1})
        ends = np.cumsum(array.chunks[0]).tolist()
        filled = [number for number, size in enumerate(array.chunks[0]) if size]
        spans = [slice(ends[number] - array.chunks[0][number], ends[number]) for number in filled]
        super().__init__(tuple(array.shape), array.dtype, spans)
        blocks = array.to_delayed().ravel()
        self._blocks = [blocks[number] for number in filled]

    @property
    def remote(self) -> bool:  # type: ignore[override]  # a client may come and go
        """Whether there is a cluster."""
        return _client() is not None

    def read(self, span: slice) -> Any:
        """Fetch one chunk."""
        return as_floats(self._blocks[self.spans.index(span)].compute(), "X")

    def chosen(self, places: Sequence[int], work: Callable[..., Result], *pieces: ChunkArguments) -> Iterator[Result]:
        """Run ``work`` where the chunks are; some are under way ahead of the one that is waited for."""
        client = _client()
        if client is None:
            yield from self._here(places, work, pieces)
            return
        shared = client.submit(_same, work, pure=False, retries=RETRIES)  # a task, so that it too can be computed again
        group = max(4, sum(client.nthreads().values()))
        waiting: deque[Any] = deque()
        for begin in range(0, len(places), group):
            batch = places[begin : begin + group]
            chunks = client.compute([self._blocks[place] for place in batch], retries=RETRIES)
            waiting.extend(
                client.submit(_apply, shared, chunk, *(piece[place] for piece in pieces), pure=False, retries=RETRIES)
                for place, chunk in zip(batch, chunks, strict=True)
            )
            del chunks  # so that the workers drop them as soon as they are done with
            while len(waiting) > group:
                yield self._next(waiting)
        while waiting:
            yield self._next(waiting)

    def _next(self, waiting: deque[Any]) -> Any:
        self.reads += 1
        return waiting.popleft().result()

    def _here(
        self, places: Sequence[int], work: Callable[..., Result], pieces: tuple[ChunkArguments, ...]
    ) -> Iterator[Result]:
        import dask

        call = dask.delayed(partial(_apply, work), pure=False)
        group = os.cpu_count() or 1
        for begin in range(0, len(places), group):
            batch = places[begin : begin + group]
            self.reads += len(batch)
            yield from dask.compute(*(call(self._blocks[place], *(piece[place] for piece in pieces)) for place in batch))


def _client() -> Any:
    """Return the client of ``dask.distributed`` in use, if that was imported and there is one."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return distributed.default_client()
    except ValueError:
        return None


def _same(value: Any) -> Any:
    return value


def _apply(work: Callable[..., Result], chunk: Any, *pieces: Any) -> Result:
    """Run ``work`` on a chunk as dask holds it. What overflows is told by the result, here as in the calling thread."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return work(as_floats(chunk, "X"), *pieces)
