"""The separating hyperplane of a solution, which also classifies new points."""

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

    With multipliers y and ``A = (Phi - 1 a^T) T + 1 t^T``, a point of weight 1 scores ``1 - (A y)_i``. So
    ``normal = -T y`` and ``offset = 1 + a . (T y) - t . y``. The score is computed as ``level + normal . (phi(x) - a)`` with
    ``level = 1 - t . y``. This keeps its digits where the features are large beside their spread.

    Attributes
    ----------
    normal : array, shape (k,)
        The normal in feature space; it points into the class.
    offset : float
        The score at the origin of feature space.
    names : tuple of str
        The features, one per entry of ``normal``.
    normals, origins : tuples of arrays
        The parts of ``normal`` and of a, one per block of moments.
    level : float
        The score of a point whose features are a.
    maps : tuple of FittedMap or None
        The feature map of every block; None for a block without one, such as the rows of a constraint.

    Examples
    --------
    >>> import momentlp as mlp
    >>> problem = mlp.Spec(tolerance=mlp.Absolute(1.0)).compile([[0.0], [1.0], [2.0], [9.0]], mean=[1.0])
    >>> separator = mlp.solve(problem).separator
    >>> separator.normal, separator.offset
    (array([-0.125]), 1.125)
    >>> separator.predict([[3.0], [20.0]])
    array([ True, False])
    """

    normals: tuple[FloatArray, ...]
    origins: tuple[FloatArray, ...]
    level: float
    maps: tuple[FittedMap | None, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, problem: Problem, multipliers: FloatArray) -> Self:
        """Compute the hyperplane from the multipliers of a problem.

        Parameters
        ----------
        problem : Problem
        multipliers : array, shape (m,)

        Returns
        -------
        Separator
        """
        parts = problem.split_by_block(multipliers)
        normals = tuple(
            -(part if block.transform is None else np.asarray(block.transform @ part, dtype=np.float64))
            for block, part in zip(problem.blocks, parts, strict=True)
        )
        # A constraint whose rows differ between points cannot be evaluated for new points. So its rows do not count for the
        # score, and neither does their shift. If no block has a feature map, there are only such rows: then they all count.
        without_maps = not any(block.fitted for block in problem.blocks)
        level = 1.0 - sum(
            float(block.shift @ part)
            for block, part in zip(problem.blocks, parts, strict=True)
            if without_maps or block.fitted is not None or block.is_same_for_all_points
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
        """Score new points.

        Parameters
        ----------
        X : array, data frame or sparse matrix, shape (n, d)
            Points in the form in which ``compile`` takes them, with the same columns. If the problem was built from arrays,
            rows of features. Data that ``compile`` reads in chunks are read in chunks here too.

        Returns
        -------
        array, shape (n,)
            Above zero inside the class, below zero outside.

        Raises
        ------
        DataError
            If X has other columns than the points of the problem, or values that are not finite.

        Examples
        --------
        >>> import momentlp as mlp
        >>> problem = mlp.Spec(tolerance=mlp.Absolute(1.0)).compile([[0.0], [1.0], [2.0], [9.0]], mean=[1.0])
        >>> mlp.solve(problem).separator.decision_function([[3.0], [20.0]])
        array([ 0.75 , -1.375])
        """
        table = chunked_table(X)
        if table is not None:
            return self._score_chunks(table)
        if not any(self.maps):
            return np.asarray(self.offset + _check_features(X, self.normal.size) @ self.normal, dtype=np.float64)
        parts = []
        for normal, origin, fitted in zip(self.normals, self.origins, self.maps, strict=True):
            if fitted is None:  # rows of a constraint: they are known for the points of the problem only
                continue
            features = fitted(X)
            sparse = is_sparse(features)
            parts.append(features @ normal - origin @ normal if sparse else (features - origin) @ normal)
        return np.asarray(self.level + np.sum(parts, axis=0), dtype=np.float64)

    def _score_chunks(self, table: Chunked) -> FloatArray:
        scores = np.empty(len(table))
        for fitted in filter(None, self.maps):
            check_columns(table.names, fitted.inputs if fitted.named_inputs else None, "X")
        try:
            for span, part in zip(table.spans, table.scan(self.decision_function), strict=True):
                scores[span] = part
        except DataError:
            summarise(table)  # raises an error with the row index in the whole table, if a value is not finite
            raise
        return scores

    def predict(self, X: Any) -> NDArray[np.bool_]:
        """Classify new points: those that score above zero belong to the class.

        Parameters
        ----------
        X : array, data frame or sparse matrix, shape (n, d)
            As in :meth:`decision_function`.

        Returns
        -------
        array of bool, shape (n,)

        Raises
        ------
        DataError
            As :meth:`decision_function` does.

        Examples
        --------
        >>> import momentlp as mlp
        >>> problem = mlp.Spec(tolerance=mlp.Absolute(1.0)).compile([[0.0], [1.0], [2.0], [9.0]], mean=[1.0])
        >>> mlp.solve(problem).separator.predict([[3.0], [20.0]])
        array([ True, False])
        """
        return self.decision_function(X) > 0

    def _repr_html_(self) -> str:
        entries = [(name, value) for name, value in zip(self.names, self.normal.tolist(), strict=True) if value]
        entries.sort(key=lambda entry: -abs(entry[1]))
        rows: list[tuple[object, ...]] = [("offset", f"{self.offset:.6g}")]
        rows += [(name, f"{value:.6g}") for name, value in entries[:MAX_ROWS]]
        if len(entries) > MAX_ROWS:
            rows.append((f"... {len(entries) - MAX_ROWS} smaller ones ...",))
        title = f"Separator: {len(entries):,} of {self.normal.size:,} features have a weight"
        return html_table(title, rows, ("feature", "weight"))


def _check_features(X: Any, width: int) -> Any:
    features, _ = as_points(X, "X")
    if features.shape[1] != width:
        raise DataError(f"X has {features.shape[1]} column(s), but the separator has {width} feature(s).")
    return features


def _feature_names(names: tuple[str, ...], width: int) -> tuple[str, ...]:
    return names if len(names) == width else tuple(f"x{column}" for column in range(width))
