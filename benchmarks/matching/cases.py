"""The tasks of the benchmark: NSW and CPS, the USPS digits, and Gaussians."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.common.problems import make_case
from benchmarks.matching.task import Floats, Task

__all__ = ["CASES", "GROUP_CASES", "MissingDataError"]

COVARIATES = ("age", "educ", "black", "hisp", "marr", "nodegree", "re74", "re75")


class MissingDataError(Exception):
    """The data of a case are not there."""


class MatchingCase(NamedTuple):
    """A task and what to call it."""

    title: str
    make: Callable[[], Task]


def means_of_nsw(tolerance: float) -> Task:
    """Return the controls of CPS, and the means of the eight covariates of the treated of NSW."""
    treated, controls = _read_nsw()
    return _profile(controls, treated, tolerance)


def products_of_nsw(tolerance: float) -> Task:
    """Return the same with 44 moments: the covariates, and their squares and products about the means of the treated."""
    treated, controls = _read_nsw()
    about = treated.mean(axis=0)
    return _profile(_with_products(controls, about), _with_products(treated, about), tolerance)


def groups_of_nsw(tolerance: float) -> Task:
    """Return treated and controls together: choose as many of both, with means that agree."""
    treated, controls = _read_nsw()
    spread = np.sqrt((treated.var(axis=0) + controls.var(axis=0)) / 2)
    codes = np.append(np.ones(len(treated), dtype=np.int64), np.zeros(len(controls), dtype=np.int64))
    rows = np.vstack([treated, controls])
    return Task("groups", rows, rows[:0], treated.mean(axis=0), tolerance * spread, codes, tolerance)


def sums_of_case(name: str, **numbers: float) -> Task:
    """Return the paper's program for one of the cases of :mod:`benchmarks.common.problems`."""
    moments, _, upper = make_case(name, **numbers).arrays()
    return Task("sum", moments, moments[:0], np.zeros(upper.size), upper, np.zeros(len(moments), dtype=np.int64), np.nan)


def _profile(pool: Floats, target: Floats, tolerance: float) -> Task:
    delta = tolerance * target.std(axis=0)
    return Task("mean", pool, target, target.mean(axis=0), delta, np.zeros(len(pool), dtype=np.int64), tolerance)


def _with_products(rows: Floats, about: Floats) -> Floats:
    first, second = np.triu_indices(rows.shape[1])
    away = rows - about
    return np.hstack([rows, away[:, first] * away[:, second]])


def _read_nsw() -> tuple[Floats, Floats]:
    """Return the covariates of the 185 treated of NSW, and of the 15,992 controls of CPS."""
    package = importlib.util.find_spec("causaldata")
    if package is None or package.origin is None:
        raise MissingDataError("the package causaldata is not installed (dependency group bench-matching)")
    import pandas as pd

    folder = Path(package.origin).parent
    nsw, cps = (pd.read_stata(folder / name / f"{name}.dta") for name in ("nsw_mixtape", "cps_mixtape"))
    treated = nsw[nsw.treat == 1][list(COVARIATES)].to_numpy(dtype=np.float64)
    return treated, cps[list(COVARIATES)].to_numpy(dtype=np.float64)


CASES = {
    "means-0.1": MatchingCase("NSW / CPS, 8 means within 0.1 SD", partial(means_of_nsw, 0.1)),
    "products-0.1": MatchingCase("NSW / CPS, 44 means and products within 0.1 SD", partial(products_of_nsw, 0.1)),
    "usps": MatchingCase("USPS, 6,198 digits, 256 pixels, eps = 30 on the sums", partial(sums_of_case, "usps", eps=30.0)),
    "gaussians": MatchingCase(
        "Gaussians, 100,000 points, 32 moments, eps = 2,000 on the sums", partial(sums_of_case, "gaussians", n=100_000, m=32)
    ),
    "means-0.01": MatchingCase("NSW / CPS, 8 means within 0.01 SD", partial(means_of_nsw, 0.01)),
    "products-0.01": MatchingCase("NSW / CPS, 44 means and products within 0.01 SD", partial(products_of_nsw, 0.01)),
}
GROUP_CASES = {
    "groups-0.1": MatchingCase(
        "185 treated of NSW and 15,992 controls of CPS, 8 means within 0.1 pooled SD", partial(groups_of_nsw, 0.1)
    ),
}
