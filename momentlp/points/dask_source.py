"""Points in a dask array, processed by threads of this process or by the workers of a cluster.

If a ``dask.distributed`` client is in use, chunks stay on the workers. The function is sent once per pass, and with each
chunk its piece of each array, packed; the result comes back. If a worker dies, the scheduler computes its chunks again from
their source on another worker. Results are returned in the order of the rows.
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

RETRIES = 3  # of a task that fails, for instance because a file server did not answer


class Dask(Chunked):
    """A dask array with its own chunks of rows.

    Without a client, dask's scheduler in this process computes as many chunks at a time as there are processors.
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
        not_empty = [number for number, size in enumerate(array.chunks[0]) if size]
        spans = [slice(ends[number] - array.chunks[0][number], ends[number]) for number in not_empty]
        super().__init__(tuple(array.shape), array.dtype, spans)
        blocks = array.to_delayed().ravel()
        self._blocks = [blocks[number] for number in not_empty]

    @property
    def remote(self) -> bool:  # type: ignore[override]  # a client may come and go
        """Whether there is a cluster."""
        return _client() is not None

    def read(self, span: slice) -> Any:
        """Compute one chunk and return it."""
        return as_floats(self._blocks[self.spans.index(span)].compute(), "X")

    def scan_selected(self, chunks: Sequence[int], work: Callable[..., Result], *pieces: ChunkArguments) -> Iterator[Result]:
        """Run ``work`` on the workers that hold the chunks; some chunks are computed ahead of the next result."""
        client = _client()
        if client is None:
            yield from self._scan_locally(chunks, work, pieces)
            return
        shared = client.submit(_identity, work, pure=False, retries=RETRIES)  # a task, so that it can be computed again too
        group = max(4, sum(client.nthreads().values()))
        waiting: deque[Any] = deque()
        for begin in range(0, len(chunks), group):
            batch = chunks[begin : begin + group]
            computed = client.compute([self._blocks[chunk] for chunk in batch], retries=RETRIES)
            waiting.extend(
                client.submit(_apply, shared, future, *(piece[chunk] for piece in pieces), pure=False, retries=RETRIES)
                for chunk, future in zip(batch, computed, strict=True)
            )
            del computed  # so that the workers free chunks as soon as they are used
            while len(waiting) > group:
                yield self._next_result(waiting)
        while waiting:
            yield self._next_result(waiting)

    def _next_result(self, waiting: deque[Any]) -> Any:
        self.reads += 1
        return waiting.popleft().result()

    def _scan_locally(
        self, chunks: Sequence[int], work: Callable[..., Result], pieces: tuple[ChunkArguments, ...]
    ) -> Iterator[Result]:
        import dask

        call = dask.delayed(partial(_apply, work), pure=False)
        group = os.cpu_count() or 1
        for begin in range(0, len(chunks), group):
            batch = chunks[begin : begin + group]
            self.reads += len(batch)
            yield from dask.compute(*(call(self._blocks[chunk], *(piece[chunk] for piece in pieces)) for chunk in batch))


def _client() -> Any:
    """Return the default client of ``dask.distributed``, or None."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        return distributed.default_client()
    except ValueError:
        return None


def _identity(value: Any) -> Any:
    return value


def _apply(work: Callable[..., Result], chunk: Any, *pieces: Any) -> Result:
    """Run ``work`` on a chunk of dask. Overflow shows in the result, so warnings are off, as in the calling thread."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return work(as_floats(chunk, "X"), *pieces)
