"""The contract of a feature map: a pytest suite that checks that the theorem holds in the features of your own map.

::

    from momentlp.testing import FeatureMapContract


    class TestMine(FeatureMapContract):
        features = MyMap()

Each test draws random points with hypothesis (``points``, which you may replace by a strategy of your own).
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from types import FunctionType
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from momentlp.errors import CompileError, DataError, OnlyLabelledWarning
from momentlp.features import FeatureMap, TransductiveMap
from momentlp.points.arrays import FloatArray, is_sparse
from momentlp.problem.problem import Problem
from momentlp.solution.solution import Solution
from momentlp.solving.solve_problem import solve
from momentlp.spec.spec import Spec
from momentlp.spec.tolerances import Absolute
from momentlp.status import Status
from momentlp.testing.strategies import clouds, half_spaces, labelled_sets

__all__ = ["FeatureMapContract"]

TOLERANCE = 1e-6


class FeatureMapContract:
    """The test suite of a feature map: subclass it in a test module, set ``features``, and run pytest.

    Attributes
    ----------
    features : FeatureMap
        The map under test.
    points : hypothesis strategy
        Draws arrays of points that the map accepts; points that it refuses with an error of momentlp are skipped.
    depends_on_order : bool
        Whether features may change with the order of the points, for instance because landmarks are drawn by position.

    Examples
    --------
    >>> from momentlp import Linear
    >>> class TestLinear(FeatureMapContract):
    ...     features = Linear()
    >>> TestLinear().solved(np.array([[0.0], [1.0], [2.0], [9.0]]), labelled=[1]).status.name
    'OPTIMAL'
    """

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Make a test of every check. Each subclass gets its own functions, so that hypothesis keeps its examples apart."""
        super().__init_subclass__(**keywords)
        for name, check in vars(FeatureMapContract).items():
            if name.startswith("check_"):
                own = FunctionType(check.__code__, check.__globals__, f"test_{name.removeprefix('check_')}")
                own.__doc__, own.__qualname__ = check.__doc__, f"{cls.__qualname__}.{own.__name__}"
                setattr(cls, own.__name__, given(data=st.data())(own))

    features: ClassVar[FeatureMap]
    depends_on_order: ClassVar[bool] = False
    points: ClassVar[st.SearchStrategy[FloatArray]] = clouds(min_points=4, max_points=20, max_dims=3, decades=2)

    def check_features_are_named_finite_and_the_same_every_time(self, data: st.DataObject) -> None:
        """One row per point, one name per feature, the same numbers from the same points."""
        X = data.draw(self.points)
        first, second = (self.compile(X, mean=None).blocks[0] for _ in range(2))
        phi = _dense(first.features)
        assert phi.shape == (len(X), len(first.labels))
        assert len(set(first.labels)) == len(first.labels)
        assert np.isfinite(phi).all()
        assert np.array_equal(phi, _dense(second.features))

    def check_new_points_are_mapped_like_the_old_ones(self, data: st.DataObject) -> None:
        """Points that are mapped again as new points get the same features (except if the map is a graph)."""
        X = data.draw(self.points)
        block = self.compile(X, mean=None).blocks[0]
        assert block.fitted is not None
        again = _dense(block.fitted(X))
        assert again.shape == block.features.shape
        if not isinstance(self.features, TransductiveMap):
            size = np.abs(_dense(block.features)).max(initial=1e-300)
            assert np.allclose(again, _dense(block.features), rtol=1e-9, atol=1e-9 * size)

    def check_a_half_space_is_the_largest_set_with_its_mean(self, data: st.DataObject) -> None:
        """Sufficiency: a set that a hyperplane in feature space separates is the optimum for its own mean."""
        X = data.draw(self.points)
        phi = _dense(self.compile(X, mean=None).blocks[0].features)
        h = data.draw(half_spaces(phi))
        solution = solve(self.compile(X, mean=h @ phi / h.sum()))
        assert solution.status is Status.OPTIMAL, solution.message
        assert solution.objective == pytest.approx(h.sum(), rel=TOLERANCE)

    def check_the_largest_set_is_cut_off_by_its_multipliers(self, data: st.DataObject) -> None:
        """Necessity: the multipliers are a hyperplane that separates the optimum, and the separator computes its scores."""
        X = data.draw(self.points)
        solution = self.solved(X, data.draw(labelled_sets(len(X))))
        h, s = solution.membership, solution.scores
        assert (h[s > TOLERANCE] > 1 - TOLERANCE).all()
        assert (h[s < -TOLERANCE] < TOLERANCE).all()
        if not isinstance(self.features, TransductiveMap):
            size = 1.0 + np.abs(s).max()
            assert np.allclose(solution.separator.decision_function(X), s, atol=1e-6 * size)

    def check_order_of_points_does_not_matter(self, data: st.DataObject) -> None:
        """Shuffle the points: the optimum does not change."""
        X = data.draw(self.points)
        labelled = data.draw(labelled_sets(len(X)))
        if self.depends_on_order:
            return
        order = np.random.default_rng(len(X)).permutation(len(X))
        moved = self.solved(X[order], np.flatnonzero(np.isin(order, labelled)))
        assert moved.objective == pytest.approx(self.solved(X, labelled).objective, rel=1e-4)

    def check_a_saved_problem_comes_back(self, data: st.DataObject) -> None:
        """Save and load a problem: the map gives the same features, unless it cannot be saved."""
        X = data.draw(self.points)
        problem = self.compile(X, mean=None)
        fitted = problem.blocks[0].fitted
        if fitted is None or fitted.model is not None:
            return
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "problem.npz"
            problem.save(path)
            again = Problem.load(path).blocks[0]
        assert again.fitted is not None
        assert np.array_equal(_dense(again.fitted(X)), _dense(fitted(X)))

    def solved(self, X: FloatArray, labelled: Any) -> Solution:
        """Solve for the mean of labelled points, with a tolerance far above rounding errors.

        Parameters
        ----------
        X : array, shape (N, d)
        labelled : indices or boolean mask into X

        Returns
        -------
        Solution
        """
        try:
            problem = Spec(features=self.features, tolerance=Absolute(1e-3)).compile(X, labelled=labelled)
        except (CompileError, DataError):
            assume(False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OnlyLabelledWarning)  # few points, many features
            solution = solve(problem)
        assert solution.status is Status.OPTIMAL, solution.message
        return solution

    def compile(self, X: FloatArray, mean: FloatArray | None) -> Problem:
        """Compile for a given mean, without tolerance.

        Parameters
        ----------
        X : array, shape (N, d)
        mean : array of shape (k,), or None
            In the features of the map; None stands for the mean of all points.

        Returns
        -------
        Problem
        """
        spec = Spec(features=self.features, tolerance=Absolute(0.0))
        try:
            if mean is None:
                return spec.compile(X, labelled=range(len(X)))
            return spec.compile(X, mean=mean)
        except (CompileError, DataError):
            assume(False)
            raise


def _dense(matrix: Any) -> FloatArray:
    return np.asarray(matrix.toarray() if is_sparse(matrix) else matrix, dtype=np.float64)
