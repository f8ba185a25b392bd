"""Slices of rows that are small enough to stay in the cache of a processor.

Centring a chunk of features and multiplying it is fastest while the chunk is still in the cache, and it takes no second
copy of all the features.
"""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["rows_in_cache", "slice_for_cache"]

CACHE_BYTES = 1 << 20  # of float64 entries; the second-level cache of common processors is about this size


def rows_in_cache(n_columns: int) -> int:
    """Return how many rows of float64 entries fit into the cache; at least one."""
    return max(1, CACHE_BYTES // (8 * max(1, n_columns)))


def slice_for_cache(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Yield slices that cover all rows in order, each small enough for the cache.

    Examples
    --------
    >>> list(slice_for_cache(n_rows=3, n_columns=1 << 16))
    [slice(0, 2, None), slice(2, 4, None)]
    """
    step = rows_in_cache(n_columns)
    return (slice(start, start + step) for start in range(0, n_rows, step))
