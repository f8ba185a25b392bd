"""The errors that momentlp raises on purpose.

All of them derive from :class:`MomentLPError`, so ``except MomentLPError`` catches every one. Each also derives from the
built-in error that fits best. A message names the argument and its value, and says what to do next.
"""

from __future__ import annotations

__all__ = [
    "BackendNotFoundError",
    "BackendUnavailableError",
    "CompileError",
    "DataError",
    "DoubtfulResultWarning",
    "ExtraMissingError",
    "FileFormatError",
    "ModelError",
    "MomentLPError",
    "NoMatchError",
    "OnlyLabelledWarning",
    "OptionError",
    "SentinelWarning",
    "SolverError",
    "SpecError",
    "StratumSkippedWarning",
    "UnmatchedLevelWarning",
]


class MomentLPError(Exception):
    """Base class of all errors that momentlp raises.

    Examples
    --------
    >>> import momentlp as mlp
    >>> try:
    ...     mlp.Spec().compile([[0.0], [1.0]], labelled=[7])
    ... except mlp.MomentLPError as error:
    ...     print(type(error).__name__)
    DataError
    """


class DataError(MomentLPError, ValueError):
    """An array, data frame or index that the caller passed cannot be used.

    The message names the argument and, if one entry is at fault, its position.

    Examples
    --------
    >>> import momentlp as mlp
    >>> mlp.Spec().compile([[0.0], [1.0]], labelled=[7])
    Traceback (most recent call last):
        ...
    momentlp.errors.DataError: labelled holds index 7, but the points are numbered 0 to 1.
    """


class CompileError(MomentLPError, ValueError):
    """A spec does not fit the data that it is compiled with.

    Examples
    --------
    >>> import momentlp as mlp
    >>> mlp.Spec(constraints=[mlp.GroupShare("town", high={"a": 0.5})]).compile([[0.0], [1.0]], labelled=[0])
    Traceback (most recent call last):
        ...
    momentlp.errors.CompileError: GroupShare.groups names column 'town', but the points have x0.
    """


class SpecError(MomentLPError, ValueError):
    """A spec, or a file that holds a spec, is not valid.

    The message names the field.

    Examples
    --------
    >>> import momentlp as mlp
    >>> mlp.Share(low=0.8, high=0.5)
    Traceback (most recent call last):
        ...
    momentlp.errors.SpecError: Share: low is 0.8 and high is 0.5: low must not exceed high.
    """


class FileFormatError(MomentLPError, ValueError):
    """A saved file is incomplete, of another kind, or holds content that is not allowed.

    Examples
    --------
    >>> import momentlp as mlp
    >>> mlp.Problem.load("no_such_file.npz")
    Traceback (most recent call last):
        ...
    momentlp.errors.FileFormatError: there is no file 'no_such_file.npz'.
    """


class OptionError(MomentLPError, ValueError):
    """An option is unknown or out of range, or the solver does not accept it.

    Examples
    --------
    >>> import momentlp as mlp
    >>> mlp.Options(time_limit=-1)
    Traceback (most recent call last):
        ...
    momentlp.errors.OptionError: time_limit must be a number above 0, not -1.
    """


class BackendNotFoundError(MomentLPError, LookupError):
    """No backend is registered under this name.

    The message lists the names that are; so does :func:`momentlp.backends`.

    Examples
    --------
    >>> import momentlp as mlp
    >>> try:
    ...     mlp.solve(mlp.Problem.from_arrays([[1.0]], 0.0, 1.0), "simplex")
    ... except mlp.BackendNotFoundError as error:
    ...     print(str(error)[:30])
    there is no backend 'simplex'.
    """


class BackendUnavailableError(MomentLPError, ImportError):
    """The backend is registered, but its solver cannot be loaded here, for example because it is not installed.

    The message says what to install. :func:`momentlp.backends` lists which backends are available.
    """


class ExtraMissingError(MomentLPError, ImportError):
    """An optional package that this call needs is not installed.

    The message gives the command that installs it, such as ``pip install 'momentlp[yaml]'``.
    """


class SolverError(MomentLPError, RuntimeError):
    """A backend raised an error or broke its contract, or an estimator got no set of points to fit.

    :func:`momentlp.solve` raises it for a bug in the solver or in its backend; another backend may solve the same problem.
    If the solver only stops without an answer, the solution has the status ``FAILED`` and nothing is raised. Estimators have
    no status: they raise this error if no set meets the constraints, and the message names the constraints in conflict.

    Examples
    --------
    >>> import momentlp as mlp
    >>> class Broken(mlp.Backend):
    ...     name, engine, package = "broken", "none", "momentlp"
    ...
    ...     @classmethod
    ...     def version(cls):
    ...         return mlp.__version__
    ...
    ...     def run(self, problem, options):
    ...         raise RuntimeError("the basis is singular")
    >>> try:
    ...     mlp.solve(mlp.Problem.from_arrays([[1.0]], 0.0, 1.0), Broken())
    ... except mlp.SolverError as error:
    ...     print(str(error)[:65])
    backend 'broken' failed with RuntimeError: the basis is singular.
    """


class ModelError(MomentLPError, ValueError):
    """A Pyomo model cannot be written as a linear program over memberships.

    Examples
    --------
    >>> import momentlp as mlp
    >>> mlp.Problem.from_pyomo("not a model")
    Traceback (most recent call last):
        ...
    momentlp.errors.ModelError: expected a Problem or a Pyomo ConcreteModel, not str.
    """


class NoMatchError(MomentLPError, ValueError):
    """None of the strata of a match could be matched. The message says why, for each.

    Examples
    --------
    >>> import momentlp as mlp
    >>> pool, target = {"x": [1, 2], "town": ["a", "a"]}, {"x": [1, 2], "town": ["b", "b"]}
    >>> mlp.matching.profile_match(pool, target, strata="town")
    Traceback (most recent call last):
        ...
    momentlp.errors.NoMatchError: no stratum could be matched (a: the target has no rows in it; b: the pool has no rows in
    it). Allow a larger tolerance, or use coarser strata.
    """


class DoubtfulResultWarning(UserWarning):
    """The classifier has a reason to doubt what it found. The message gives the reason, and what to do.

    ``doubts_`` of the fitted model lists the reasons. The filters of :mod:`warnings` turn the warning off.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import momentlp as mlp
    >>> X = np.random.default_rng(0).normal(size=(200, 2))  # the labelled points are like all others
    >>> y = np.arange(200) < 10
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = mlp.MomentClassifier("auto").fit(X, y)
    >>> caught[0].category.__name__, len(model.doubts_) > 0
    ('DoubtfulResultWarning', True)
    """


class OnlyLabelledWarning(UserWarning):
    """The set found is the labelled set itself: there are too many moments for the number of points.

    Allow a wider tolerance or use fewer features. The filters of :mod:`warnings` turn it off, or into an error.

    Examples
    --------
    >>> import warnings
    >>> import momentlp as mlp
    >>> problem = mlp.Spec(mlp.Quadratic()).compile([[0.0], [1.0]], labelled=[0])
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     solution = mlp.solve(problem)
    >>> [warning.category.__name__ for warning in caught]
    ['OnlyLabelledWarning']
    """


class SentinelWarning(UserWarning):
    """A few entries of a column are so far beyond the rest that they probably stand for missing values.

    Typical are 999999999 or -9999 in a column of values near 1: one such entry decides the mean of the column. The message
    names the columns, the rows and the value. Impute the entries, drop the rows or clip the column before
    :meth:`Spec.compile <momentlp.Spec.compile>`. If the values are meant, the filters of :mod:`warnings` turn the warning
    off.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import momentlp as mlp
    >>> X = np.linspace(0.0, 1.0, 200)[:, None]
    >>> X[7] = 999999999
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     solution = mlp.solve(mlp.Spec().compile(X, labelled=range(5)))
    >>> print(str(caught[0].message)[:42])
    column 'x0' holds 999999999 (row 7). That
    """


class StratumSkippedWarning(UserWarning):
    """Nothing was chosen in some strata of a match. The message names them and says why.

    ``match.skipped`` holds the same. The filters of :mod:`warnings` turn the warning off, or into an error.

    Examples
    --------
    >>> import warnings
    >>> import momentlp as mlp
    >>> pool, target = {"x": [1, 2, 3], "town": ["a", "a", "b"]}, {"x": [1, 2], "town": ["a", "a"]}
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     match = mlp.matching.profile_match(pool, target, strata="town", backend="highs")
    >>> print(caught[0].message)
    1 of 2 strata were skipped (b: the target has no rows in it).
    """


class UnmatchedLevelWarning(UserWarning):
    """A level that is balanced exactly is missing in some group, so that none of its rows can be chosen.

    The message names the level and the group. The filters of :mod:`warnings` turn the warning off, or into an error.

    Examples
    --------
    >>> import warnings
    >>> import momentlp as mlp
    >>> X = {"x": [1, 2, 1, 2], "town": ["a", "b", "a", "a"], "group": [0, 0, 1, 1]}
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     match = mlp.matching.cardinality_match(X, "group", exact="town", tolerance=9, backend="highs")
    >>> print(caught[0].message)
    exact balance cannot be met by rows with town=b, which group '1' has not: none of them is chosen.
    """
