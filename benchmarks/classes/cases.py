"""The cases: a class of a data set, a number of labelled members, and all other points unlabelled.

USPS is split as in the paper: the sample is drawn from 3100 images that are not among the 6198 unlabelled ones. From the
data that comes with scikit-learn the sample is drawn at random from the class, and all other rows are unlabelled. Pixels
stay as they are. The columns of the wine and breast cancer data have units that differ by factors of thousands: they are
standardised, over all rows, for everyone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.preprocessing import StandardScaler

from momentlp.datasets.usps import load_usps, usps_split

__all__ = ["DATASETS", "LABELS", "MIN_LEFT", "SPLITS", "TITLES", "Case", "Split", "cases", "split"]

DATASETS = {"usps": 10, "digits": 10, "cancer": 2, "wine": 3}  # number of classes
TITLES = {"usps": "USPS digits", "digits": "scikit-learn's digits", "cancer": "breast cancer", "wine": "wine"}
LABELS = (25, 50, 100)
SPLITS = 10
MIN_LEFT = 10  # unlabelled members; with fewer, recall is too coarse to compare
BUNDLED = {"digits": load_digits, "cancer": load_breast_cancer, "wine": load_wine}
PIXELS = ("digits",)


@dataclass(frozen=True)
class Case:
    """One class of one data set with a number of known members: a row of the report."""

    dataset: str
    target: int
    n_known: int

    @property
    def name(self) -> str:
        """The class in one word, as on the command line: ``usps-3``."""
        return f"{self.dataset}-{self.target}"


@dataclass(frozen=True)
class Split:
    """The input of a method, and the truth, which no method sees.

    Attributes
    ----------
    unlabelled : array, shape (n, d)
    sample : array, shape (n_known, d)
        Known members. None of them is among the unlabelled points.
    truth : array of bool, shape (n,)
    """

    unlabelled: np.ndarray
    sample: np.ndarray
    truth: np.ndarray


def cases(names: Sequence[str], labels: Sequence[int]) -> Iterator[Case]:
    """Yield the cases of the data sets (``usps``) and classes (``usps-3``) that are named, class by class."""
    for dataset, classes in DATASETS.items():
        for target in range(classes):
            if dataset in names or f"{dataset}-{target}" in names:
                yield from (Case(dataset, target, n_known) for n_known in labels)


def split(case: Case, number: int, usps: Path | None = None) -> Split | None:
    """Return split ``number`` of a case; None if fewer than MIN_LEFT members would be left to find.

    Raises
    ------
    DataError
        If the case is of USPS and its files are not in the folder ``usps``.
    """
    X, labels = _load(case.dataset, usps if case.dataset == "usps" else None)
    if case.dataset == "usps":
        unlabelled, truth, sample = usps_split(X, labels, case.n_known, random_state=number, digit=case.target)
        return Split(unlabelled, sample, truth)
    members = np.flatnonzero(labels == case.target)
    if len(members) - case.n_known < MIN_LEFT:
        return None
    known = np.random.default_rng(number).choice(members, case.n_known, replace=False)
    rest = np.setdiff1d(np.arange(len(X)), known)
    return Split(X[rest], X[known], labels[rest] == case.target)


@cache
def _load(dataset: str, usps: Path | None) -> tuple[np.ndarray, np.ndarray]:
    if dataset == "usps":
        return load_usps(usps)
    X, labels = BUNDLED[dataset](return_X_y=True)
    return (X if dataset in PIXELS else StandardScaler().fit_transform(X)), labels
