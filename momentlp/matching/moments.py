"""Moments: the functions of the covariates whose means are balanced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from momentlp.errors import CompileError, DataError, OptionError
from momentlp.features import FeatureMap, depends_on_labels
from momentlp.matching.covariates import Covariates
from momentlp.points.arrays import FloatArray, is_sparse

__all__ = ["Moments", "build_moments"]

CHOICES = ("means", "variances", "products")


@dataclass(frozen=True, eq=False)
class Moments:
    """Functions of the covariates whose means are balanced.

    Attributes
    ----------
    values : array, shape (n, k)
    names : tuple of str
        ``age`` for a covariate itself, ``age^2``, ``age * educ`` and ``age <= 25`` for functions of it.
    sources : tuple of frozenset of str
        The columns of the table that each is made of.
    """

    values: FloatArray
    names: tuple[str, ...]
    sources: tuple[frozenset[str], ...]


def build_moments(
    covariates: Covariates, features: str | FeatureMap, quantiles: Sequence[float], reference: FloatArray
) -> Moments:
    """Compute the moments of all rows.

    Parameters
    ----------
    covariates : Covariates
    features : {"means", "variances", "products"} or FeatureMap
        ``"variances"`` adds the squares of all covariates that are not indicators; ``"products"`` these and the products of
        all pairs from different columns. Squares and products are of deviations from the mean over ``reference``, which
        changes nothing where the means agree exactly, and is closer to variances and covariances where they do not.
    quantiles : sequence of float
        Between 0 and 1: adds indicators ``x <= q`` for these quantiles q of every covariate that is not an indicator.
    reference : array, shape (r, d)
        The covariates of the rows whose means and quantiles are used: the target, or all rows.

    Raises
    ------
    OptionError
        If features or quantiles are none of these.
    CompileError
        If a feature map needs labelled points.
    """
    quantiles = _check_quantiles(quantiles)
    if isinstance(features, FeatureMap):
        moments = _map_covariates(covariates, features)
    elif features in CHOICES:
        moments = _join(list(_power_moments(covariates, str(features), reference.mean(axis=0))))
    else:
        raise OptionError(f"features must be {', '.join(map(repr, CHOICES))} or a feature map, not {features!r:.80}.")
    extra = list(_quantile_moments(covariates, quantiles, reference))
    return moments if not extra else _join([moments, *extra])


def _power_moments(covariates: Covariates, features: str, centre: FloatArray) -> Iterator[Moments]:
    """Yield the covariates, their squares and their products, as far as they are asked for and vary."""
    names, sources = covariates.names, [frozenset([source]) for source in covariates.sources]
    yield Moments(covariates.values, names, tuple(sources))
    deviations = covariates.values - centre
    if features != "means":
        squares = [j for j, indicator in enumerate(covariates.is_indicator) if not indicator]
        yield Moments(
            deviations[:, squares] ** 2, tuple(f"{names[j]}^2" for j in squares), tuple(sources[j] for j in squares)
        )
    if features == "products":
        for i, j in combinations(range(len(names)), 2):
            if sources[i] != sources[j]:
                product = deviations[:, [i]] * deviations[:, [j]]
                yield Moments(product, (f"{names[i]} * {names[j]}",), (sources[i] | sources[j],))


def _quantile_moments(covariates: Covariates, quantiles: list[float], reference: FloatArray) -> Iterator[Moments]:
    if not quantiles:
        return
    for j in np.flatnonzero(~covariates.is_indicator):
        for cut in np.unique(np.quantile(reference[:, j], quantiles, method="inverted_cdf")):
            below = (covariates.values[:, [j]] <= cut).astype(np.float64)
            if np.ptp(below) > 0:
                yield Moments(below, (f"{covariates.names[j]} <= {cut:.6g}",), (frozenset([covariates.sources[j]]),))


def _map_covariates(covariates: Covariates, features: FeatureMap) -> Moments:
    if any(depends_on_labels(part) for part in features.parts()):
        raise CompileError(
            f"features={type(features).__name__} needs labelled points, and there are none in matching: use 'means', "
            "'products', or a map such as mlp.Quadratic()."
        )
    fitted = features.fit(covariates.values, covariates.names)
    values: Any = features.training(covariates.values, fitted)
    values = np.asarray(values.toarray() if is_sparse(values) else values, dtype=np.float64)
    varying = np.flatnonzero(np.ptp(values, axis=0) > 0)
    if not varying.size:
        raise DataError(f"features={type(features).__name__} gives nothing that varies between the rows: use another map.")
    everything = frozenset(covariates.sources)
    return Moments(values[:, varying], tuple(fitted.names[j] for j in varying), (everything,) * varying.size)


def _join(parts: Sequence[Moments]) -> Moments:
    names = tuple(name for part in parts for name in part.names)
    return Moments(
        np.ascontiguousarray(np.column_stack([part.values for part in parts])),
        names,
        tuple(source for part in parts for source in part.sources),
    )


def _check_quantiles(quantiles: Any) -> list[float]:
    try:
        values = [float(quantile) for quantile in quantiles]
    except (TypeError, ValueError):
        raise OptionError(f"quantiles must be a sequence of numbers between 0 and 1, not {quantiles!r:.80}.") from None
    for value in values:
        if not 0 < value < 1:
            raise OptionError(f"quantiles must lie between 0 and 1, but one is {value:g}.")
    return values
