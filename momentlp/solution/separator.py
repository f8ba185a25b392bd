"""The hyperplane behind an answer, and what it says about points never seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from momentlp.errors import DataError
from momentlp.features import FittedMap
from momentlp.points.arrays import FloatArray, is_sparse
from momentlp.points.chunked import Chunked
from momentlp.points.sources import chunked_table
from momentlp.points.statistics import summarise
from momentlp.points.validation import as_points, check_columns
from momentlp.problem.problem import Problem
from momentlp.runtime.html_table import MAX_ROWS, html_table

__all__ = ["Separator"]


@dataclass(frozen=True, eq=False)
class Separator:
    """The half-space ``offset + normal . phi(x) > 0`` of the class.

    With multipliers y, a point of weight 1 scores ``1 - (A y)_i``. Written out, ``normal = -T y`` and
    ``offset = 1 + a . (T y) - t . y``; it is evaluated as ``level + normal . (phi(x) - a)``, which keeps its digits where
    the features are large against their spread.

    Attributes
    ----------
    normal : array, shape (k,)
    offset : float
    names : tuple of str
        The features, one per entry of ``normal``.
    """

    normals: tuple[FloatArray, ...]
    origins: tuple[FloatArray, ...]
    level: float
    maps: tuple[FittedMap | None, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, problem: Problem, multipliers: FloatArray) -> Self:
        """Read the hyperplane off the multipliers of a problem."""
        parts = problem.split_by_block(multipliers)
        normals = tuple(
            -(part if block.transform is None else np.asarray(block.transform @ part, dtype=np.float64))
            for block, part in zip(problem.blocks, parts, strict=True)
        )
        # Rows of a constraint that tell points apart say nothing of new ones, of which it is not known where they belong:
        # neither their features nor what is subtracted from those count. Where no block has a map, rows are all there is.
        bare = not any(block.fitted for block in problem.blocks)
        level = 1.0 - sum(
            float(block.shift @ part)
            for block, part in zip(problem.blocks, parts, strict=True)
            if bare or block.fitted is not None or block.is_same_for_all_points
        )
        names = tuple(
            name
            for block in problem.blocks
            for name in (block.fitted.names if block.fitted else _feature_names(block.names, block.origin.size))
        )
        return cls(normals, tuple(b.origin for b in problem.blocks), level, tuple(b.fitted for b in problem.blocks), names)

    @property
    def normal(self) -> FloatArray:
        """The normal of the hyperplane in feature space, pointing into the class."""
        return np.concatenate(self.normals)

    @property
    def offset(self) -> float:
        """The score at the origin of feature space."""
        shift = sum(float(normal @ origin) for normal, origin in zip(self.normals, self.origins, strict=True))
        return self.level - shift

    def decision_function(self, X: Any) -> FloatArray:
        """Score new points, shape (n,): above zero inside the class, below zero outside.

        Parameters
        ----------
        X : array, frame or sparse matrix, shape (n, d)
            Points as they were given to ``compile``; rows of features where the problem was built from arrays. What
            ``compile`` reads in chunks is read in chunks here too.
        """
        table = chunked_table(X)
        if table is not None:
            return self._in_chunks(table)
        if not any(self.maps):
            return np.asarray(self.offset + _bare_features(X, self.normal.size) @ self.normal, dtype=np.float64)
        parts = []
        for normal, origin, fitted in zip(self.normals, self.origins, self.maps, strict=True):
            if fitted is None:  # rows of a constraint: they speak of the points of the problem alone
                continue
            features = fitted(X)
            sparse = is_sparse(features)
            parts.append(features @ normal - origin @ normal if sparse else (features - origin) @ normal)
        return np.asarray(self.level + np.sum(parts, axis=0), dtype=np.float64)

    def _in_chunks(self, table: Chunked) -> FloatArray:
        scores = np.empty(len(table))
        for fitted in filter(None, self.maps):
            check_columns(table.names, fitted.inputs if fitted.named_inputs else None, "X")
        try:
            for span, part in zip(table.spans, table.scan(self.decision_function), strict=True):
                scores[span] = part
        except DataError:
            summarise(table)  # which says which row of all is not finite, if that is what is wrong
            raise
        return scores

    def predict(self, X: Any) -> NDArray[np.bool_]:
        """Tell which new points belong to the class: those that score above zero."""
        return self.decision_function(X) > 0

    def _repr_html_(self) -> str:
        entries = [(name, value) for name, value in zip(self.names, self.normal.tolist(), strict=True) if value]
        entries.sort(key=lambda entry: -abs(entry[1]))
        rows: list[tuple[object, ...]] = [("offset", f"{self.offset:.6g}")]
        rows += [(name, f"{value:.6g}") for name, value in entries[:MAX_ROWS]]
        if len(entries) > MAX_ROWS:
            rows.append((f"... {len(entries) - MAX_ROWS} smaller ones ...",))
        title = f"Separator: {len(entries):,} of {self.normal.size:,} features count"
        return html_table(title, rows, ("feature", "weight"))


def _bare_features(X: Any, width: int) -> Any:
    features, _ = as_points(X, "X")
    if features.shape[1] != width:
        raise DataError(f"X has {features.shape[1]} column(s), but the separator has {width} feature(s).")
    return features


def _feature_names(names: tuple[str, ...], width: int) -> tuple[str, ...]:
    return names if len(names) == width else tuple(f"x{column}" for column in range(width))
