"""A spec whose feature maps are fitted to the points: with a labelled sample it becomes a problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from momentlp.errors import CompileError, DataError
from momentlp.features import FeatureMap, FittedMap, TransductiveMap, depends_on_labels
from momentlp.points.arrays import FloatArray, IndexArray, Matrix, is_sparse
from momentlp.points.chunked import Chunked
from momentlp.points.statistics import column_mean
from momentlp.points.validation import as_indices, as_vector, reject_index_labels
from momentlp.problem.moment_block import MomentBlock
from momentlp.problem.problem import Problem
from momentlp.spec.constraints import Constraint, apply_constraint
from momentlp.spec.data import Data
from momentlp.spec.tolerances import Target, Tolerance

__all__ = ["Part", "Prepared", "fit_part", "with_distinct_names"]


@dataclass(frozen=True, eq=False)
class Part:
    """One part of the feature map, fitted.

    Attributes
    ----------
    fitted : FittedMap
    rows : array, csr_array or Chunked
        The rows that it was fitted to: the points, followed by the sample if the map is fitted to both together.
    features : array, csr_array or Chunked, or None
        The features of ``rows``; None if they depend on which rows are labelled.
    sample : array or csr_array, optional
        The features of a sample that is not among the rows.
    labels : tuple of two arrays, optional
        The labelled rows that ``features`` were computed for, and how often each counts. None if features do not depend on
        them.
    """

    fitted: FittedMap
    rows: Matrix | Chunked
    features: Matrix | Chunked | None
    sample: Matrix | None = None
    labels: tuple[IndexArray, FloatArray] | None = None

    def with_labels(self, known: IndexArray | None, counts: FloatArray | None, weights: FloatArray) -> Part:
        """Return the part with its features, computing them if they depend on which rows are labelled.

        Parameters
        ----------
        known : array of int, or None
            The labelled rows; None if only the mean of the class is given.
        counts : array, or None
            How often each of them counts.
        weights : array
            How many points each row stands for; 0 for the rows of a sample.
        """
        if self.features is not None and (self.labels is None or self._has_labels(known, counts)):
            return self
        if known is None or counts is None:
            name = type(self.fitted.declared).__name__
            raise CompileError(f"{name} needs labelled points, but only the mean was given: use labelled= or sample=.")
        declared = self.fitted.declared
        fitted = self.fitted
        if isinstance(declared, TransductiveMap):
            fitted = declared.with_labels(fitted, known, counts, points=self.rows, weights=weights)
        return replace(self, fitted=fitted, features=declared.training(self.rows, fitted), labels=(known, counts))

    def _has_labels(self, known: IndexArray | None, counts: FloatArray | None) -> bool:
        """Return whether the features were computed for these labels."""
        if self.labels is None or known is None or counts is None:
            return False
        return np.array_equal(self.labels[0], known) and np.array_equal(self.labels[1], counts)


@dataclass(frozen=True, eq=False)
class Prepared:
    """Points with their features. :meth:`compile` adds a labelled sample and may be called for many samples.

    The slow step of building a problem, such as a graph of neighbours or a kernel, does not depend on the labelled points,
    so folds and bootstrap samples share it. :meth:`Spec.prepare <momentlp.Spec.prepare>` returns an instance.

    Attributes
    ----------
    data : Data
        The points.
    parts : tuple of Part
        The fitted parts of the feature map.
    tolerance : Tolerance
    constraints : tuple of Constraint
    caps : array, shape (N,)
        How many points each row stands for: the sample weights.
    weights : array, shape (N,)
        The weights of the objective, all one.
    given : object
        X as the user gave it; needed to check that ``labelled`` holds positions and not labels of its index.
    present : array of int, or None
        Indices of the points with a positive weight; None if all have one. Maps learn from these alone.
    n_sample : int
        The number of points of the sample, if the class is given by one.
    whole : bool
        Whether memberships must be integers.

    Examples
    --------
    >>> import momentlp as mlp
    >>> prepared = mlp.Spec().prepare([[0.0], [1.0], [2.0], [9.0]])
    >>> [mlp.solve(prepared.compile(labelled=known)).objective for known in ([0, 1], [0, 1, 2])]
    [2.0, 3.0]
    """

    data: Data
    parts: tuple[Part, ...]
    tolerance: Tolerance
    constraints: tuple[Constraint, ...]
    caps: FloatArray
    weights: FloatArray
    given: Any = field(repr=False)
    present: IndexArray | None = None
    n_sample: int = 0
    whole: bool = False

    @property
    def n_features(self) -> int:
        """The number of features of all maps together."""
        return sum(len(part.fitted.names) for part in self.parts)

    def compile(self, *, labelled: Any = None, counts: Any = None, mean: Any = None) -> Problem:
        """Return the problem for a labelled sample.

        Parameters
        ----------
        labelled : indices or boolean mask into X, optional
            Points known to belong to the class. Without it, ``mean`` defines the class, or the sample that ``prepare``
            was given.
        counts : array, optional
            How often each labelled point counts, in the order of ``labelled``, as in a bootstrap sample. Default: its
            sample weight.
        mean : array, shape (k,), optional
            The mean of the class in feature space, if it is known.

        Returns
        -------
        Problem

        Raises
        ------
        DataError
            If an array has a wrong length, or counts are negative or all zero.
        CompileError
            If the parts do not fit together, or a constraint fails.
        """
        n_points = self.data.n_points
        known = None if labelled is None else as_indices(reject_index_labels(labelled, self.given), n_points, "labelled")
        if known is None:
            members = None if not self.n_sample else n_points + np.arange(self.n_sample)
            weight = None if members is None else np.ones(self.n_sample)
        else:
            members, weight = known, np.array(self.caps[known], dtype=np.float64)
        if counts is not None:
            if members is None:
                raise CompileError("counts say how often labelled points count, but there are none: leave them out.")
            weight = as_vector(counts, members.size, "counts")
            if (weight < 0).any():
                raise DataError(f"counts must not be negative, but entry {int(np.argmax(weight < 0))} is {weight.min()}.")
        if weight is not None and not weight.sum() > 0:
            name = "counts are" if counts is not None else "sample_weight is"
            raise DataError(f"{name} zero for every labelled point: the class has no mean then.")
        return self._build_problem(known, members, weight, mean)

    def precompute_for(self, labelled: Any) -> Prepared:
        """Return the same points with everything precomputed that samples of these labelled points share.

        The problems that :meth:`compile` returns are the same; maps that depend on the labels build them faster.

        Parameters
        ----------
        labelled : indices or boolean mask into X
            The points from which samples will be drawn.

        Returns
        -------
        Prepared

        Examples
        --------
        >>> import momentlp as mlp
        >>> prepared = mlp.Spec().prepare([[0.0], [1.0], [2.0], [9.0]]).precompute_for([0, 1, 2])
        >>> prepared.compile(labelled=[0, 1])
        Problem(4 points, 1 moment: x0)
        """
        known = as_indices(reject_index_labels(labelled, self.given), self.data.n_points, "labelled")
        rows, counts = self._rows_of_members(known, np.array(self.caps[known], dtype=np.float64))
        return replace(self, parts=tuple(part.with_labels(rows, counts, self._row_weights) for part in self.parts))

    def _build_problem(
        self, known: IndexArray | None, members: IndexArray | None, weight: FloatArray | None, mean: Any
    ) -> Problem:
        widths = tuple(len(part.fitted.names) for part in self.parts)
        ends = np.cumsum(widths)[:-1]
        means = [None] * len(widths) if mean is None else np.split(as_vector(mean, sum(widths), "mean"), ends)
        blocks: list[MomentBlock] = []
        for part, tolerance, alpha in zip(self.parts, self.tolerance.split(widths), means, strict=True):
            found = part.with_labels(*self._rows_of_members(members, weight), self._row_weights)
            features, sample = self._split_off_sample(found)
            chosen = features[known] if known is not None and features is not None else sample
            centre = _mean(chosen, weight) if alpha is None else alpha
            counted = None if chosen is None else weight
            target = Target(features, centre, part.fitted.names, found.fitted, chosen, counted, self.caps)
            blocks.append(tolerance.block(target))
        problem = Problem(tuple(blocks), self.weights, self.caps, labelled=known, population=float(self.caps.sum()))
        for constraint in self.constraints:
            problem = apply_constraint(constraint, problem, self.data)
        return replace(problem, whole=True) if self.whole else problem

    @property
    def _row_weights(self) -> FloatArray:
        """How many points each row that the maps were fitted to stands for; 0 for the rows of a sample."""
        caps = self.caps if self.present is None else self.caps[self.present]
        return np.concatenate([caps, np.zeros(self.n_sample)]) if self.n_sample else caps

    def _rows_of_members(
        self, members: IndexArray | None, weight: FloatArray | None
    ) -> tuple[IndexArray | None, FloatArray | None]:
        """Return the positions of the members among the rows that the maps were fitted to, and their weights."""
        if self.present is None or members is None or weight is None:
            return members, weight
        chosen, n_points = members[weight > 0], self.data.n_points  # indices from n_points on belong to the sample
        rows = np.where(chosen < n_points, np.searchsorted(self.present, chosen), chosen - n_points + self.present.size)
        return rows, weight[weight > 0]

    def _split_off_sample(self, part: Part) -> tuple[Any, Matrix | None]:
        """Return the features of all points, and the features of the sample."""
        n_points = self.data.n_points
        features: Any = part.features
        n_present = n_points if self.present is None else self.present.size
        sample = features[n_present:] if part.sample is None and self.n_sample else part.sample
        if self.present is None:
            return (features[:n_points] if part.sample is None and self.n_sample else features), sample
        return self.data.completed(features[:n_present], part.fitted), sample


def fit_part(part: FeatureMap, points: Matrix | Chunked, columns: tuple[str, ...] | None, sample: Matrix | None) -> Part:
    """Fit one map to the points, or to the points and the sample together if the map asks for both."""
    if isinstance(points, Chunked):
        fitted, lazy = part.fit_chunks(points)
        return Part(fitted, points, lazy, None if sample is None else fitted(sample, "sample"))
    rows, apart = points, sample
    if sample is not None and isinstance(part, TransductiveMap):
        both = [points, sample]
        rows, apart = sp.vstack(both, format="csr") if is_sparse(points) else np.vstack(both), None
    fitted = part.fit(rows, columns)
    features = None if depends_on_labels(part) else part.training(rows, fitted)
    return Part(fitted, rows, features, None if apart is None else fitted(apart, "sample"))


def with_distinct_names(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Give features of different parts different names."""
    names = [name for part in parts for name in part.fitted.names]
    if len(set(names)) == len(names):
        return tuple(parts)
    return tuple(
        replace(part, fitted=replace(part.fitted, names=tuple(f"{number}.{name}" for name in part.fitted.names)))
        for number, part in enumerate(parts, 1)
    )


def _mean(features: Any, weights: FloatArray | None) -> FloatArray:
    """Return the weighted mean of each feature; exactly the common value where all are equal, without rounding."""
    mean = column_mean(features, weights)
    low, high = (_per_column(features, extreme) for extreme in ("min", "max"))
    return np.where(low == high, low, mean)


def _per_column(features: Matrix, extreme: str) -> FloatArray:
    values = getattr(features, extreme)(axis=0)
    return np.ravel(values.toarray() if is_sparse(values) else values).astype(np.float64)
