"""The images of the paper's experiments: the USPS digits, wherever they are, or a stand-in that everybody has."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentlp.datasets.usps import N_SET_APART, USPS_FILES, USPS_VARIABLE, class_split, load_usps
from momentlp.errors import DataError
from momentlp.formats.read_errors import READ_ERRORS, short_reason
from momentlp.points.arrays import FloatArray

__all__ = ["Digits", "load_digits_from", "split"]

OPENML, STAND_IN = "openml", "digits"
OPENML_ID = 41082
ZEROS = 1553
TRAIN = 7291  # USPS images that come first: its training set
HELP = (
    f"Download {' and '.join(USPS_FILES)} (they belong to the book 'The Elements of Statistical Learning') and give their "
    f"folder with --data or in the environment variable {USPS_VARIABLE}; or use --data {OPENML}, which fetches OpenML's "
    f"copy (number {OPENML_ID}), or --data with a file of that copy (.arff, .parquet, .csv). Without any of them --data "
    f"{STAND_IN} runs the same experiments on the 1797 smaller images inside scikit-learn, marked as such."
)


@dataclass(frozen=True, eq=False)
class Digits:
    """Images, which digit each shows, and the sizes that the paper's protocol has on them.

    Attributes
    ----------
    name : str
        ``"usps"``, or ``"digits"`` for the stand-in.
    title : str
    X : array, shape (N, d)
        Pixels from -1 to 1.
    labels : array of int, shape (N,)
    n_train : int
        How many come first as a training set.
    n_apart : int
        How many are set apart to draw labelled images from; all others are to be sorted.
    sizes : tuple of int
        Of the labelled samples.
    epsilon : float
        The tolerance on the sum that goes with them.
    """

    name: str
    title: str
    X: FloatArray
    labels: NDArray[np.int64]
    n_train: int
    n_apart: int
    sizes: tuple[int, ...]
    epsilon: float

    @property
    def real(self) -> bool:
        """Whether these are the images of the paper."""
        return self.name == "usps"

    @cached_property
    def digest(self) -> str:
        """What tells these images from all others."""
        content = hashlib.sha256(np.ascontiguousarray(self.X).tobytes())
        content.update(np.ascontiguousarray(self.labels).tobytes())
        return content.hexdigest()[:16]

    def near(self, size: int) -> int:
        """Return the labelled size on these images that stands for one of the paper's."""
        place = (size / 500) * max(self.sizes)
        return min(self.sizes, key=lambda own: (abs(own - place), own))


def split(
    X: FloatArray, labels: NDArray[np.int64], n_known: int, n_apart: int, number: int, digit: int = 0
) -> tuple[FloatArray, NDArray[np.bool_], FloatArray]:
    """Split as the paper does. Where fewer images are set apart than are asked for, all of them are labelled.

    That happens: of the 3100 images that the paper sets apart, 518 are zeros on average, and in one split of seven fewer
    than its largest sample of 500.
    """
    apart = np.random.default_rng(number).permutation(len(X))[:n_apart]
    return class_split(X, labels, min(n_known, int((labels[apart] == digit).sum())), n_apart, number, digit)


def load_digits_from(given: str | None) -> Digits:
    """Return the images that ``--data`` names.

    Parameters
    ----------
    given : str, optional
        A folder of the USPS files, a file of OpenML's copy, ``"openml"`` or ``"digits"``. Default: what the environment
        variable ``MOMENTLP_USPS`` names.

    Raises
    ------
    DataError
        If they are not there, or are others; it says how to get them.

    Examples
    --------
    >>> load_digits_from("digits").X.shape
    (1797, 64)
    """
    given = given or os.environ.get(USPS_VARIABLE)
    if given is None:
        raise DataError(f"the USPS digits do not come with momentlp. {HELP}")
    if given == STAND_IN:
        return _stand_in()
    if given == OPENML:
        return _usps(*_fetched())
    path = Path(given)
    if not path.exists():
        raise DataError(f"there is no {given!r}. {HELP}")
    try:
        X, labels = load_usps(path) if path.is_dir() else _told_apart(_table(path), str(path))
    except DataError as error:
        raise DataError(f"{error} {HELP}") from None
    return _usps(X, labels)


def _usps(X: FloatArray, labels: NDArray[np.int64]) -> Digits:
    if X.shape != (9298, 256) or int((labels == 0).sum()) != ZEROS:
        raise DataError(
            f"these are not the USPS digits: expected 9298 images of 256 pixels, {ZEROS} of them zeros, but there are "
            f"{X.shape[0]} of {X.shape[1]}, {int((labels == 0).sum())} of them zeros. {HELP}"
        )
    return Digits("usps", "USPS digits", X, labels, TRAIN, N_SET_APART, tuple(range(25, 501, 25)), 30.0)


def _stand_in() -> Digits:
    """Return scikit-learn's digits with the paper's proportions: a third set apart, twenty sizes."""
    from sklearn.datasets import load_digits

    X, labels = load_digits(return_X_y=True)
    sizes = tuple(range(4, 43, 2))
    return Digits(
        "digits", "scikit-learn's digits, a stand-in for USPS", X / 8.0 - 1.0, labels.astype(np.int64), 1409, 599, sizes, 3.0
    )


def _fetched() -> tuple[FloatArray, NDArray[np.int64]]:
    from sklearn.datasets import fetch_openml

    try:
        found = fetch_openml(data_id=OPENML_ID, as_frame=False, parser="liac-arff")
    except Exception as error:
        raise DataError(f"OpenML's copy of the USPS digits cannot be fetched ({short_reason(error)}). {HELP}") from error
    return _told_apart(np.column_stack([np.asarray(found.target, dtype=float), found.data]), "OpenML's copy")


def _table(path: Path) -> FloatArray:
    """Read a table of numbers, one row for each image."""
    from momentlp.formats.tabular import Table, read_points

    if path.suffix.lower() == ".arff":
        from scipy.io import arff

        try:
            columns, _ = arff.loadarff(path)
            return np.column_stack([np.asarray(columns[name], dtype=np.float64) for name in columns.dtype.names or ()])
        except StopIteration:
            raise DataError(f"{path} is not a whole ARFF file.") from None
        except (NotImplementedError, *READ_ERRORS) as error:
            raise DataError(f"{path} cannot be read: {short_reason(error)}.") from None
    table: Any = read_points(path)
    if not isinstance(table, Table):
        raise DataError(f"{path} holds a sparse matrix: give a table of a label and 256 pixels a row.")
    return np.asarray(table.values, dtype=np.float64)


def _told_apart(table: FloatArray, name: str) -> tuple[FloatArray, NDArray[np.int64]]:
    """Tell labels from pixels: OpenML numbers the digits 0 to 9 as 1 to 10, in the first column or the last."""
    for column in (0, table.shape[1] - 1):
        values = table[:, column]
        if np.array_equal(np.unique(values), np.arange(1.0, 11.0)) or np.array_equal(np.unique(values), np.arange(10.0)):
            pixels = np.delete(table, column, axis=1)
            low, high = float(pixels.min()), float(pixels.max())
            scaled = pixels if low < 0 else 2 * (pixels - low) / max(high - low, 1e-300) - 1
            return np.ascontiguousarray(scaled), (values - values.min()).astype(np.int64)
    raise DataError(f"{name} has no column of labels from 1 to 10 (or 0 to 9), neither first nor last.")
