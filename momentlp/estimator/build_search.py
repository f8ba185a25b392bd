"""From the parameters of an estimator and its data to a search that is ready to run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from momentlp.estimator.defaults import is_auto, resolve_features
from momentlp.estimator.labels import Labels
from momentlp.estimator.parameters import check_margin, check_smoothing, check_solve_params, resolve_tolerance
from momentlp.estimator.search import Search
from momentlp.points.arrays import FloatArray
from momentlp.spec.constraints import Constraint, Known
from momentlp.spec.spec import Spec

__all__ = ["build_search"]


def build_search(
    params: Mapping[str, Any],
    points: Any,
    labels: Labels,
    weight: FloatArray | None,
    *,
    features: Any = None,
    tolerance: Any = None,
    seed: int = 0,
) -> Search:
    """Fit the feature maps of an estimator to its points.

    Parameters
    ----------
    params : mapping
        What ``get_params(deep=False)`` of the estimator returns.
    points : array, frame or sparse matrix, shape (N, d)
    labels : Labels
    weight : array, shape (N,), optional
    features, tolerance : optional
        Instead of those in ``params``: a candidate of the cross-validation. The default margin still depends on whether the
        user gave a tolerance.
    seed : int
        Of the bags of learned scores.

    Raises
    ------
    SpecError
        If a constraint declares a labelled point to be outside.
    """
    declared = params["features"] if features is None else features
    features = resolve_features(declared, points, weight, seed)
    tolerance = params["tolerance"] if tolerance is None else tolerance
    tolerance = resolve_tolerance(tolerance, declared if is_auto(declared) else features)
    known = labels.known if weight is None else labels.known[weight[labels.known] > 0]
    constraints = tuple(params["constraints"])
    Spec(constraints=(*constraints, Known(positives=known)))  # raises if a labelled point is declared to be outside
    spec = Spec(features=features, tolerance=tolerance, constraints=constraints)
    options = {"tol": params["tol"], "time_limit": params["time_limit"], **check_solve_params(params["solve_params"])}
    prepared = spec.prepare(points, sample_weight=weight).precompute_for(known)
    limits: tuple[Constraint, ...] = ()
    if is_auto(declared):
        limits = tuple(constraint for constraint in constraints if not isinstance(constraint, Known))
        prepared = replace(prepared, constraints=tuple(item for item in constraints if isinstance(item, Known)))
    margin = check_margin(params["margin"])
    if margin == "auto" and params["tolerance"] is not None:
        margin = 0.0
    smoothing = check_smoothing(params["smoothing"])
    return Search(prepared, known, smoothing, params["backend"], options, margin=margin, limits=limits)
