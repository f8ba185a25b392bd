"""MomentClassifier: find a whole class from a few labelled members."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from momentlp.errors import DataError, DoubtfulResultWarning, OnlyLabelledWarning
from momentlp.estimator.build_search import build_search
from momentlp.estimator.calibration import calibrate
from momentlp.estimator.class_prior import class_share
from momentlp.estimator.combined_score import combine
from momentlp.estimator.decision_rule import DecisionRule
from momentlp.estimator.defaults import default_features, is_auto
from momentlp.estimator.doubts import Evidence, find_doubts, find_selecting_columns
from momentlp.estimator.graph_constants import WIDTH
from momentlp.estimator.graph_scores import GraphScores
from momentlp.estimator.labels import Labels
from momentlp.estimator.limited_set import best_limited_set
from momentlp.estimator.missing_labels import fill_missing_labels
from momentlp.estimator.nearest_to_mean import is_undetermined
from momentlp.estimator.parameters import check_parameters
from momentlp.estimator.prediction import PredictionMixin
from momentlp.estimator.resampling import Bagged, refit_bootstrap_samples
from momentlp.estimator.score_model import ScoreModel
from momentlp.estimator.search import Search, SearchResult
from momentlp.estimator.table_errors import explain_table_error
from momentlp.features import FeatureMap, Learned
from momentlp.points.arrays import FloatArray
from momentlp.runtime.steps import report_step, show_steps
from momentlp.runtime.warn_caller import warn_caller
from momentlp.solution.solution import Solution
from momentlp.spec.tolerances import Tolerance
from momentlp.status import Status

__all__ = ["WIDTH", "MomentClassifier", "default_features"]

# Where the labelled points differ from what was found (with this probability of a false alarm), their scores count as those
# of this many points. Chosen by trial: on random labels it changes next to nothing.
SELECTION_ALARMS, INFORMATION_IF_SELECTED = 0.2, 2.0


class MomentClassifier(PredictionMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Find a class from a few of its members, without any counterexample.

    The class is the largest set of points whose mean, in a feature space, is that of the labelled members. A linear program
    finds it. ``solution_`` holds the solution and the certificate that proves it.

    With ``features="auto"`` the features are scores: of classifiers that tell labelled from unlabelled points, and of graphs
    of nearest neighbours. None of them uses the label of the point that it scores. The program finds the largest set whose
    mean scores are not much smaller than those of the labelled points. Its hyperplane ranks the points, and a model of the
    scores of members says how probable each is, how large the class is, and where to cut.

    Parameters
    ----------
    features : FeatureMap or str
        The feature space. ``"auto"``: scores, as above; best on tables of any kind and on text. Otherwise a map such as
        ``momentlp.Quadratic()``, or the name of one such as ``"quadratic"``; then members are the points in the set that the
        program finds. ``"spectral"`` is
        :class:`~momentlp.Spectral` with 16 components (fewer for less than 160 points), 5 neighbours, a random walk that
        stops with probability 0.02 at each step, and columns divided by their range.
    tolerance : Tolerance or float, optional
        How far the mean of the set may be from the mean of the labelled points. A number counts standard errors. Default:
        2, on the lower side alone, for ``"auto"``; 2.5 for :class:`~momentlp.Spectral`; 0.8 for other features.
    constraints : sequence of Constraint
        Further constraints on the set. Their points are rows of X. With ``"auto"`` and constraints other than ``Known``,
        members are the set that meets them with the largest sum of ``p - theta``: p is the probability of membership, and
        theta its value at the cut. This is a linear program too; ``limited_solution_`` is its solution.
    pos_label : scalar, optional
        The value of y that marks labelled members. Default: the larger of the two values.
    smoothing : float, "auto" or None
        Average the memberships over neighbourhoods before they are cut at one half. The number is the probability that the
        averaging walk stops at a step; 1 means no averaging. ``"auto"`` is 0.05 for :class:`~momentlp.Spectral` features
        and None for others.
    margin : float or "auto"
        Used with smoothing only: points count as members only if their score in the linear program is above this. A wide
        tolerance allows for the error of the labelled mean, but lets in other points; they lie near the hyperplane, where
        scores are zero. ``"auto"`` is 0.3 with the default tolerance, and 0 with a tolerance that you give.
    bagging : int
        Average the memberships over this many bootstrap samples of the labelled points; 0 for none. The scores of ``"auto"``
        are averages over bags already.
    probability : bool
        Whether to enable :meth:`predict_proba` where it takes five more searches. With ``"auto"`` it is always enabled.
    backend : str or Backend
        The solver, as in :func:`momentlp.solve`.
    tol : float
        The certificate must hold within this tolerance.
    time_limit : float, optional
        Seconds for one linear program.
    solve_params : mapping, optional
        Other arguments of :func:`momentlp.solve`, such as ``{"threads": 1}``.
    random_state : int, RandomState or None
        Seed for bags and for :meth:`class_prior_interval`. With None the bags of ``"auto"`` are the same in every fit.
    verbose : bool
        Whether to write each step of a fit to standard error, with the seconds since its beginning.

    Attributes
    ----------
    membership_ : array, shape (N,)
        With ``"auto"`` the probability that each row of X is in the class, or with constraints other than ``Known`` the
        share of it that is in the set which meets them; otherwise the share of it that is, averaged over
        neighbourhoods and bootstrap samples if asked for. ``solution_.membership`` is the optimum itself.
    transduction_ : array, shape (N,)
        The label of each row of X. Members are the labelled rows and the rows with ``membership_`` above one half.
    labelled_ : array of bool, shape (N,)
        Which rows of X were marked as members, rows of weight 0 included.
    class_prior_ : float
        The share of the class among the unlabelled rows.
    solution_ : Solution
        The solution of the linear program, with its certificate.
    separator_ : Separator
        The hyperplane of the solution in feature space.
    limited_solution_ : Solution
        Only with ``"auto"`` and constraints other than ``Known``: the program that chose the members, with its certificate.
        A file does not hold it. ``predict``, ``class_prior_`` and ``query`` go by the probabilities, without constraints.
    offset_ : float
        The score above which a point is a member. ``decision_function`` is ``score_samples - offset_``, or its negative if
        the members are ``classes_[0]``.
    rule_ : DecisionRule
        How points are scored.
    classes_ : array, shape (2,)
        Both values of y, sorted.
    pos_label_ : scalar
        The one of them that marks members.
    doubts_ : tuple of str
        With ``"auto"``, the reasons to doubt the result, each with what to do. A fit gives each as a warning, unless more
        than half of the rows are labelled. A loaded model has none.
    n_iter_ : int
        Iterations of the solver.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : array of str, shape (d,)
        Column names of X, if X was a frame.

    See Also
    --------
    MomentClassifierCV : chooses features and tolerance by cross-validation.

    Examples
    --------
    >>> import numpy as np, momentlp as mlp
    >>> from sklearn.datasets import load_digits
    >>> X, digit = load_digits(return_X_y=True)
    >>> y = np.zeros(len(X), dtype=int)
    >>> threes = np.flatnonzero(digit == 3)
    >>> y[np.random.default_rng(0).choice(threes, 25, replace=False)] = 1  # 25 threes are known
    >>> model = mlp.MomentClassifier().fit(X, y)
    >>> model.solution_.certificate.holds()
    True
    >>> found = model.transduction_ == 1
    >>> f"precision {np.mean(digit[found] == 3):.2f}, recall {np.mean(found[digit == 3]):.2f}"
    'precision 0.99, recall 0.92'
    """

    def __init__(
        self,
        features: FeatureMap | str = "auto",
        tolerance: Tolerance | float | None = None,
        constraints: Any = (),
        *,
        pos_label: Any = None,
        smoothing: float | str | None = "auto",
        margin: float | str = "auto",
        bagging: int = 0,
        probability: bool = False,
        backend: Any = "auto",
        tol: float = 1e-7,
        time_limit: float | None = None,
        solve_params: Mapping[str, Any] | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.features = features
        self.tolerance = tolerance
        self.constraints = constraints
        self.pos_label = pos_label
        self.smoothing = smoothing
        self.margin = margin
        self.bagging = bagging
        self.probability = probability
        self.backend = backend
        self.tol = tol
        self.time_limit = time_limit
        self.solve_params = solve_params
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the class.

        Parameters
        ----------
        X : array, frame or sparse matrix, shape (N, d)
            All points, labelled and unlabelled.
        y : array, shape (N,)
            Two values: one for labelled members, another for unlabelled points. The latter may be None or NaN.
        sample_weight : array, shape (N,), optional
            The number of points that each row stands for.

        Returns
        -------
        MomentClassifier
            The estimator itself.

        Raises
        ------
        ValueError
            If a parameter cannot be used, y does not hold two values, or X holds NaN or infinity.
        SolverError
            If no set of points meets the constraints, or the backend proved no answer.

        Examples
        --------
        >>> import momentlp as mlp
        >>> X, y = [[0.0], [1.0], [0.5], [9.0], [8.0]], [1, 1, 0, 0, 0]
        >>> model = mlp.MomentClassifier("linear").fit(X, y)
        >>> model.transduction_.tolist()
        [1, 1, 1, 0, 0]
        """
        self._check_params()
        points, labels, weight = self._check_data(X, y, sample_weight)
        seed = 0 if self.random_state is None else int(check_random_state(self.random_state).randint(2**31))
        with show_steps(self.verbose):
            report_step(f"{points.shape[0]} points with {points.shape[1]} columns, {labels.known.size} of them labelled")
            self._set_fitted(build_search(self.get_params(deep=False), points, labels, weight, seed=seed), labels)
            report_step(f"done: the class has a share of {self.class_prior_:.3g} of the unlabelled points")
        return self

    def fit_predict(self, X: Any, y: Any, sample_weight: Any = None) -> NDArray[Any]:
        """Fit, and return the label of every row of X.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.

        Returns
        -------
        array, shape (N,)
            ``transduction_``.

        Raises
        ------
        ValueError, SolverError
            As in :meth:`fit`.

        Examples
        --------
        >>> import momentlp as mlp
        >>> X = [[0.0], [1.0], [0.5], [9.0], [8.0]]
        >>> mlp.MomentClassifier("linear").fit_predict(X, [1, 1, 0, 0, 0]).tolist()
        [1, 1, 1, 0, 0]
        """
        return np.asarray(self.fit(X, y, sample_weight).transduction_)

    def save(self, path: str | Path) -> None:
        """Write the fitted model to one file of plain arrays. Reading the file cannot run code.

        Parameters
        ----------
        path : str or Path

        Raises
        ------
        FileFormatError
            If a parameter cannot be saved without a pickle, such as a function.

        Examples
        --------
        >>> import tempfile, momentlp as mlp
        >>> X, y = [[0.0], [1.0], [0.5], [9.0], [8.0]], [1, 1, 0, 0, 0]
        >>> model = mlp.MomentClassifier("linear").fit(X, y)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/model.npz")
        ...     loaded = mlp.MomentClassifier.load(f"{folder}/model.npz")
        >>> loaded.predict(X).tolist()
        [1, 1, 1, 0, 0]
        """
        from momentlp.estimator.model_files import save_model

        check_is_fitted(self)
        save_model(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model that :meth:`save` wrote. The certificate is computed again from what the file holds.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        MomentClassifier

        Raises
        ------
        FileFormatError
            If the file is damaged, or holds something else.

        Examples
        --------
        >>> import tempfile, momentlp as mlp
        >>> X, y = [[0.0], [1.0], [0.5], [9.0], [8.0]], [1, 1, 0, 0, 0]
        >>> model = mlp.MomentClassifier("linear").fit(X, y)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/model.npz")
        ...     loaded = mlp.MomentClassifier.load(f"{folder}/model.npz")
        >>> loaded.predict(X).tolist()
        [1, 1, 1, 0, 0]
        """
        from momentlp.estimator.model_files import load_model

        model: Self = load_model(cls, Path(path))
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    def _check_params(self) -> None:
        """Check all parameters before anything is computed with them."""
        check_parameters(self.get_params(deep=False))

    def _check_data(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Labels, FloatArray | None]:
        """Check the data as scikit-learn does. A frame stays a frame, because constraints may name its columns."""
        y, member = fill_missing_labels(y)
        if member is not None and self.pos_label is not None and self.pos_label != member:
            raise DataError(
                f"pos_label is {self.pos_label!r}, but y holds {member!r} and missing values, which mark unlabelled points: "
                f"leave pos_label out, or use {member!r}."
            )
        try:
            points, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2)
        except (TypeError, ValueError) as error:
            raise explain_table_error(X, error) from None
        weight = None if sample_weight is None else _check_sample_weight(sample_weight, points, dtype=np.float64)
        if weight is not None and (weight < 0).any():
            raise DataError(f"sample_weight must not be negative, but entry {int(np.argmax(weight < 0))} is {weight.min()}.")
        pos_label = member if self.pos_label is None else self.pos_label
        labels = Labels.from_y(y, np.ones(len(y)) if weight is None else weight, pos_label)
        return (X if hasattr(self, "feature_names_in_") and hasattr(X, "columns") else points), labels, weight

    def _set_fitted(self, search: Search, labels: Labels) -> None:
        """Search, and set the fitted attributes."""
        found = search.run()
        solution = found.solution
        if is_undetermined(solution):
            warn_caller(
                f"a constraint limits the set to {solution.objective:.6g} points, and many sets of that size have exactly "
                "the mean of the labelled points: the choice among them is arbitrary, and the separator says nothing. Allow "
                "more, or leave that constraint out and take the rows with the highest score_samples.",
                RuntimeWarning,
            )
        self.classes_, self.pos_label_ = labels.classes, labels.classes.tolist()[labels.positive]
        self.solution_, self.separator_, self.labelled_ = solution, solution.separator, labels.labelled
        self.n_iter_ = max(1, solution.iterations or 0)
        self._search_ = search
        self.__dict__.pop("limited_solution_", None)
        if is_auto(self.features):
            self._set_by_score_model(search, solution)
        else:
            self._set_by_program(search, found)
        self.offset_ = self.rule_.offset
        self.transduction_ = labels.to_y(labels.labelled | (self.membership_ > 0.5))
        self._warn_if_only_labelled(solution, labels)
        for doubt in self.doubts_ if labels.labelled.mean() <= 0.5 else ():
            warn_caller(doubt, DoubtfulResultWarning)

    def _set_by_score_model(self, search: Search, solution: Solution) -> None:
        """Set memberships and decision rule by a model of the scores of members."""
        weights = search.prepared.caps[search.known]
        unlabelled = search.unlabelled
        unlabelled[search.outside] = 0.0
        if not unlabelled.any():
            raise DataError("every unlabelled point is declared to be outside by a constraint: no point is left to find.")
        combined = combine(solution, search.known, weights, unlabelled)
        scores, counted = combined.scores, unlabelled > 0
        model = ScoreModel.fit(scores[search.known], scores[counted], unlabelled[counted], weights)
        self.rule_ = DecisionRule((combined.separator,), calibration=model, threshold=model.cut)
        learned, graph = combined.total(Learned), combined.total(GraphScores)
        names = getattr(self, "feature_names_in_", None)
        names = [f"column {number}" for number in range(search.points.shape[1])] if names is None else list(map(str, names))
        evidence = Evidence(model, scores, learned, graph, search.known, weights, unlabelled, search.points, names)
        self.doubts_ = find_doubts(evidence)
        if find_selecting_columns(evidence, SELECTION_ALARMS).size:  # their scores say little about other members'
            model = ScoreModel.fit(
                scores[search.known], scores[counted], unlabelled[counted], weights, INFORMATION_IF_SELECTED
            )
            self.rule_ = replace(self.rule_, calibration=model, threshold=model.cut)
        membership = self.rule_.probability(scores)
        membership[self.labelled_] = 1.0
        membership[search.inside], membership[search.outside] = 1.0, 0.0
        self._probability_ = membership
        if search.limits:
            likely = model(scores)
            likely[membership == 1.0], likely[search.outside] = 1.0, 0.0
            membership, self.limited_solution_ = best_limited_set(search, likely, model.cut_probability)
        self.membership_, self.class_prior_ = membership, model.prior

    def _set_by_program(self, search: Search, found: SearchResult) -> None:
        """Set memberships and decision rule by the set that the program finds."""
        solution = found.solution
        self.doubts_ = ()
        result = Bagged(found.membership, solution.scores, (solution.separator,))
        if self.bagging:
            result = refit_bootstrap_samples(search, solution, int(self.bagging), self._make_generator())
        self.membership_, scores = result.membership, result.scores
        self._probability_ = self.membership_
        self.class_prior_ = class_share(self.membership_, search.unlabelled)
        if found.smoother is None:
            self.rule_ = DecisionRule(result.separators)
        else:
            present, scores = search.prepared.present, self.membership_
            values = scores if present is None else scores[present]
            self.rule_ = DecisionRule((), found.smoother, values)
        if self.probability:
            self.rule_ = replace(self.rule_, calibration=calibrate(search, solution, scores, self.class_prior_))

    def _warn_if_only_labelled(self, solution: Solution, labels: Labels) -> None:
        """Warn if the class is the labelled points and nothing else.

        There is no warning where a limit was reached, which has a warning of its own, nor where half of all rows or more are
        labelled, as in scikit-learn's checks: there the result is no surprise.
        """
        if self.class_prior_ == 0 and solution.status is Status.OPTIMAL and labels.labelled.mean() < 0.5:
            warn_caller(
                "no unlabelled point was found: the class is the labelled points and nothing else. Label more, use a larger "
                "tolerance, or smoothing=None.",
                OnlyLabelledWarning,
            )
