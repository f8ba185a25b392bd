"""A spec whose feature maps have seen the points: one step from a problem, for any labelled sample."""

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
from momentlp.points.validation import as_indices, as_vector, reject_index_labels
from momentlp.problem.moment_block import MomentBlock
from momentlp.problem.problem import Problem
from momentlp.spec.constraints import Constraint, Data
from momentlp.spec.tolerances import Target, Tolerance

__all__ = ["Part", "Prepared", "fit_part", "with_distinct_names"]


@dataclass(frozen=True, eq=False)
class Part:
    """One part of the feature map, fitted.

    Attributes
    ----------
    fitted : FittedMap
    rows : array, csr_array or Chunked
        What it was fitted on: the points, and behind them the sample if the map takes both together.
    features : array, csr_array or Chunked
        The features of ``rows``; None where they depend on which rows are labelled.
    sample : array or csr_array, optional
        The features of a sample that is not among the rows.
    """

    fitted: FittedMap
    rows: Matrix | Chunked
    features: Matrix | Chunked | None
    sample: Matrix | None = None

    def with_labels(self, known: IndexArray | None, counts: FloatArray | None) -> Part:
        """Return the part with the features it has once it is known which rows are labelled, and how often each counts."""
        if self.features is not None:
            return self
        if known is None or counts is None:
            name = type(self.fitted.declared).__name__
            raise CompileError(f"{name} needs labelled points, but only the mean was given: use labelled= or sample=.")
        declared = self.fitted.declared
        fitted = declared.with_labels(self.fitted, known, counts) if isinstance(declared, TransductiveMap) else self.fitted
        return replace(self, fitted=fitted, features=declared.training(self.rows, fitted))


@dataclass(frozen=True, eq=False)
class Prepared:
    """Points whose features are known. :meth:`compile` adds the labelled sample, as often as there are samples to try.

    What takes time in a problem, a graph of neighbours or a kernel, does not depend on the labelled points: folds and
    bootstrap samples share it. Points of no weight are left out of what the maps learn. Made by :meth:`Spec.prepare
    <momentlp.Spec.prepare>`.

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

    @property
    def n_features(self) -> int:
        """How many features all maps give together."""
        return sum(len(part.fitted.names) for part in self.parts)

    def compile(self, *, labelled: Any = None, counts: Any = None, mean: Any = None) -> Problem:
        """Return the problem for a labelled sample.

        Parameters
        ----------
        labelled : indices or boolean mask into X
            Points known to belong to the class. Left out, it is the sample or the mean that says what the class is.
        counts : array, optional
            How often each labelled point counts, in the order of ``labelled``: a bootstrap sample. Default: by its weight.
        mean : array, shape (k,)
            The mean of the class in feature space, where it is known.
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
        return self._problem(known, members, weight, mean)

    def remembering(self, labelled: Any) -> Prepared:
        """Return the same points with what the maps can work out beforehand for samples of these labelled points."""
        known = as_indices(reject_index_labels(labelled, self.given), self.data.n_points, "labelled")
        rows, counts = self._present(known, np.array(self.caps[known], dtype=np.float64))
        parts = [
            part if part.features is not None else replace(part, fitted=part.with_labels(rows, counts).fitted)
            for part in self.parts
        ]
        return replace(self, parts=tuple(parts))

    def _problem(
        self, known: IndexArray | None, members: IndexArray | None, weight: FloatArray | None, mean: Any
    ) -> Problem:
        counts = tuple(len(part.fitted.names) for part in self.parts)
        ends = np.cumsum(counts)[:-1]
        means = [None] * len(counts) if mean is None else np.split(as_vector(mean, sum(counts), "mean"), ends)
        blocks: list[MomentBlock] = []
        for part, tolerance, alpha in zip(self.parts, self.tolerance.split(counts), means, strict=True):
            found = part.with_labels(*self._present(members, weight))
            features, sample = self._apart(found)
            chosen = features[known] if known is not None and features is not None else sample
            centre = _mean(chosen, weight) if alpha is None else alpha
            counted = None if chosen is None else weight
            target = Target(features, centre, part.fitted.names, found.fitted, chosen, counted, self.caps)
            blocks.append(tolerance.block(target))
        problem = Problem(tuple(blocks), self.weights, self.caps, labelled=known, population=float(self.caps.sum()))
        for constraint in self.constraints:
            problem = constraint.apply(problem, self.data)
            if not isinstance(problem, Problem):
                raise CompileError(f"{type(constraint).__name__}.apply must return a Problem, not {type(problem).__name__}.")
        return problem

    def _present(self, members: IndexArray | None, weight: FloatArray | None) -> tuple[IndexArray | None, FloatArray | None]:
        """Say where the members stand among the rows that the maps were fitted on."""
        if self.present is None or members is None or weight is None:
            return members, weight
        chosen, n_points = members[weight > 0], self.data.n_points  # from n_points on, they are those of the sample
        places = np.where(chosen < n_points, np.searchsorted(self.present, chosen), chosen - n_points + self.present.size)
        return places, weight[weight > 0]

    def _apart(self, part: Part) -> tuple[Any, Matrix | None]:
        """Return the features of all points, and those of the sample."""
        n_points = self.data.n_points
        features: Any = part.features
        n_present = n_points if self.present is None else self.present.size
        sample = features[n_present:] if part.sample is None and self.n_sample else part.sample
        if self.present is None:
            return (features[:n_points] if part.sample is None and self.n_sample else features), sample
        return self.data.completed(features[:n_present], part.fitted), sample


def fit_part(part: FeatureMap, points: Matrix | Chunked, columns: tuple[str, ...] | None, sample: Matrix | None) -> Part:
    """Fit one map to the points, and to the sample with them if it takes both together."""
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
    """Return the mean of each feature. Equal numbers have that number as their mean, which a rounded sum may miss."""
    if weights is None or (weights == 1.0).all():
        mean = np.ravel(np.asarray(features.mean(axis=0, dtype=np.float64))).astype(np.float64)
    else:
        mean = np.asarray(features.T @ weights / weights.sum(), dtype=np.float64)
    low, high = (_per_column(features, extreme) for extreme in ("min", "max"))
    return np.where(low == high, low, mean)


def _per_column(features: Matrix, extreme: str) -> FloatArray:
    values = getattr(features, extreme)(axis=0)
    return np.ravel(values.toarray() if is_sparse(values) else values).astype(np.float64)
