"""The cases: a class of a data set, a number of labelled members, and up to 2,500 points.

There are two halves. Defaults, constants and peers' settings were chosen on one half; the other was only looked at for the
report. From each data set 2,500 rows are drawn at random (all rows, if there are fewer), and from the members among them
those that are labelled. All other rows are unlabelled. Columns stay as they are: scaling is part of a method.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from momentlp.datasets.usps import load_usps
from momentlp.errors import DataError

__all__ = ["CHOSEN_ON", "DATASETS", "LABELS", "MIN_LEFT", "REPORTED_ON", "SPLITS", "Case", "Split", "cases", "find_split"]

CHOSEN_ON = ("adult", "mnist", "pageblocks", "pima", "satellite", "vehicle", "digits", "cancer")
REPORTED_ON = ("letter", "mushroom", "phoneme", "r8_tfidf", "spam", "usps", "wine")
DATASETS = (*CHOSEN_ON, *REPORTED_ON)
BUNDLED = {"digits": load_digits, "cancer": load_breast_cancer, "wine": load_wine}
CLASSES = {"usps": ("0", "3", "8"), "digits": ("1", "6", "8"), "cancer": ("0", "1"), "wine": ("0", "1", "2")}
LABELS = (10, 25, 100)
SPLITS = 2
MAX_POINTS = 2500
MIN_LEFT = 10  # unlabelled members; with fewer, recall is too coarse to compare
FOLDER = "MOMENTLP_CLASSES"
BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data" / "classes"


@dataclass(frozen=True)
class Case:
    """One class of one data set with a number of labelled members: a row of the report."""

    dataset: str
    target: str
    n_known: int

    @property
    def name(self) -> str:
        """The class in one word, as on the command line: ``usps-3``."""
        return f"{self.dataset}-{self.target}"


@dataclass(frozen=True, eq=False)
class Split:
    """The input of a method, and the truth, which no method sees.

    Attributes
    ----------
    X : array or csr_array, shape (N, d)
    known : array of int
        Rows of the labelled members.
    truth : array of bool, shape (N,)
    """

    X: Any
    known: np.ndarray
    truth: np.ndarray

    @property
    def unlabelled(self) -> np.ndarray:
        """Which rows are unlabelled."""
        rest = np.ones(len(self.truth), dtype=bool)
        rest[self.known] = False
        return rest


def cases(names: Sequence[str], labels: Sequence[int], folder: Path | None) -> Iterator[Case]:
    """Yield the cases of the data sets (``usps``) and classes (``usps-3``) that are named, class by class.

    Raises
    ------
    DataError
        If the files of a data set are missing.
    """
    for dataset in DATASETS:
        if any(name == dataset or name.startswith(f"{dataset}-") for name in names):
            for target in _load(dataset, folder)[2]:
                if dataset in names or f"{dataset}-{target}" in names:
                    yield from (Case(dataset, target, n_known) for n_known in labels)


def find_split(case: Case, number: int, folder: Path | None) -> Split | None:
    """Return split ``number`` of a case; None if fewer than MIN_LEFT members would be left to find."""
    X, labels, _ = _load(case.dataset, folder)
    random = np.random.default_rng([number, case.n_known, zlib.crc32(case.name.encode())])
    rows = random.choice(len(labels), min(MAX_POINTS, len(labels)), replace=False)
    truth = labels[rows] == case.target
    members = np.flatnonzero(truth)
    if len(members) - case.n_known < MIN_LEFT:
        return None
    return Split(X[rows], np.sort(random.choice(members, case.n_known, replace=False)), truth)


@cache
def _load(dataset: str, folder: Path | None) -> tuple[Any, np.ndarray, tuple[str, ...]]:
    """Return points, labels as text, and the classes to look for."""
    if dataset == "usps":
        X, labels = load_usps()
        return X, labels.astype(int).astype(str), CLASSES[dataset]
    if dataset in BUNDLED:
        X, labels = BUNDLED[dataset](return_X_y=True)
        return X, labels.astype(str), CLASSES[dataset]
    given = folder or Path(os.environ.get(FOLDER, BESIDE))
    if not (given / f"{dataset}.npz").exists():
        raise DataError(f"the folder {given} has no {dataset}.npz: name another by --data, or by {FOLDER}.")
    with np.load(given / f"{dataset}.npz") as file:
        labels, classes = file["y"].astype(str), tuple(map(str, file["classes"]))
        if "X" in file:
            return file["X"].astype(float), labels, classes
        parts = file["data"].astype(float), file["indices"], file["indptr"]
        return sp.csr_array(parts, shape=tuple(file["shape"])), labels, classes
