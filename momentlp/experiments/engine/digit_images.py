"""The images of the paper's experiments: the USPS digits from several sources, or scikit-learn's digits instead."""

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

__all__ = ["Digits", "load_digit_images", "split"]

OPENML, STAND_IN = "openml", "digits"
OPENML_ID = 41082
N_ZEROS = 1553  # among the 9298 USPS digits
N_TRAIN = 7291  # the first USPS images are its training set
HOW_TO_GET_USPS = (
    f"Download {' and '.join(USPS_FILES)} (they belong to the book 'The Elements of Statistical Learning') and give their "
    f"folder with --data or in the environment variable {USPS_VARIABLE}; or use --data {OPENML}, which fetches OpenML's "
    f"copy (number {OPENML_ID}), or --data with a file of that copy (.arff, .parquet, .csv). Without USPS, --data "
    f"{STAND_IN} runs the same experiments on the 1797 smaller images in scikit-learn; the reports say so."
)


@dataclass(frozen=True, eq=False)
class Digits:
    """Images, the digit that each shows, and the sizes of the paper's protocol on them.

    Attributes
    ----------
    name : str
        ``"usps"``, or ``"digits"`` for scikit-learn's digits.
    title : str
        For headings.
    X : array, shape (N, d)
        Pixels from -1 to 1.
    labels : array of int, shape (N,)
    n_train : int
        Size of the training set, which comes first.
    n_apart : int
        Number of images from which labelled ones are drawn. All others are unlabelled.
    sizes : tuple of int
        Sizes of the labelled samples.
    epsilon : float
        The tolerance on the sum that suits these images.
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
    def is_usps(self) -> bool:
        """Whether these are the USPS digits, the images of the paper."""
        return self.name == "usps"

    @cached_property
    def digest(self) -> str:
        """A digest of images and labels, so that a journal is not continued with other data."""
        content = hashlib.sha256(np.ascontiguousarray(self.X).tobytes())
        content.update(np.ascontiguousarray(self.labels).tobytes())
        return content.hexdigest()[:16]

    def nearest_size(self, size: int) -> int:
        """Return the sample size on these images that corresponds to a size of the paper."""
        target = (size / 500) * max(self.sizes)
        return min(self.sizes, key=lambda own: (abs(own - target), own))


def split(
    X: FloatArray, labels: NDArray[np.int64], n_known: int, n_apart: int, number: int, digit: int = 0
) -> tuple[FloatArray, NDArray[np.bool_], FloatArray]:
    """Split the images as the paper does.

    If fewer images of the digit are set apart than ``n_known``, all of them are labelled. That happens: of the 3100 images
    that the paper sets apart, 518 are zeros on average, and in one split of seven there are fewer than 500, the size of its
    largest sample.

    Parameters
    ----------
    X : array, shape (N, d)
    labels : array of int, shape (N,)
    n_known : int
        Size of the labelled sample.
    n_apart : int
        Number of images from which the sample is drawn.
    number : int
        Number of the split, which seeds it.
    digit : int
        The class to find.

    Returns
    -------
    unlabelled : array, shape (N - n_apart, d)
    truth : array of bool, shape (N - n_apart,)
    sample : array, shape (n_known, d)
    """
    apart = np.random.default_rng(number).permutation(len(X))[:n_apart]
    return class_split(X, labels, min(n_known, int((labels[apart] == digit).sum())), n_apart, number, digit)


def load_digit_images(given: str | None) -> Digits:
    """Load the images that ``--data`` names.

    Parameters
    ----------
    given : str, optional
        A folder of the USPS files, a file of OpenML's copy, ``"openml"`` or ``"digits"``. Default: what the environment
        variable ``MOMENTLP_USPS`` names.

    Raises
    ------
    DataError
        If they are missing or are not the USPS digits. The message says how to get them.

    Examples
    --------
    >>> load_digit_images("digits").X.shape
    (1797, 64)
    """
    given = given or os.environ.get(USPS_VARIABLE)
    if given is None:
        raise DataError(f"the USPS digits do not come with momentlp. {HOW_TO_GET_USPS}")
    if given == STAND_IN:
        return _load_stand_in()
    if given == OPENML:
        return _check_usps(*_fetch_openml())
    path = Path(given)
    if not path.exists():
        raise DataError(f"there is no {given!r}. {HOW_TO_GET_USPS}")
    try:
        X, labels = load_usps(path) if path.is_dir() else _separate_labels(_read_table(path), str(path))
    except DataError as error:
        raise DataError(f"{error} {HOW_TO_GET_USPS}") from None
    return _check_usps(X, labels)


def _check_usps(X: FloatArray, labels: NDArray[np.int64]) -> Digits:
    if X.shape != (9298, 256) or int((labels == 0).sum()) != N_ZEROS:
        raise DataError(
            f"these are not the USPS digits: expected 9298 images of 256 pixels, {N_ZEROS} of them zeros, but there are "
            f"{X.shape[0]} of {X.shape[1]}, {int((labels == 0).sum())} of them zeros. {HOW_TO_GET_USPS}"
        )
    return Digits("usps", "USPS digits", X, labels, N_TRAIN, N_SET_APART, tuple(range(25, 501, 25)), 30.0)


def _load_stand_in() -> Digits:
    """Return scikit-learn's digits with the paper's proportions: a third set apart, twenty sizes."""
    from sklearn.datasets import load_digits

    X, labels = load_digits(return_X_y=True)
    sizes = tuple(range(4, 43, 2))
    return Digits(
        "digits", "scikit-learn's digits, a stand-in for USPS", X / 8.0 - 1.0, labels.astype(np.int64), 1409, 599, sizes, 3.0
    )


def _fetch_openml() -> tuple[FloatArray, NDArray[np.int64]]:
    from sklearn.datasets import fetch_openml

    try:
        found = fetch_openml(data_id=OPENML_ID, as_frame=False, parser="liac-arff")
    except Exception as error:
        raise DataError(
            f"OpenML's copy of the USPS digits cannot be fetched ({short_reason(error)}). {HOW_TO_GET_USPS}"
        ) from error
    return _separate_labels(np.column_stack([np.asarray(found.target, dtype=float), found.data]), "OpenML's copy")


def _read_table(path: Path) -> FloatArray:
    """Read a table of numbers, one row for each image."""
    from momentlp.formats.tabular import Table, read_points

    if path.suffix.lower() == ".arff":
        from scipy.io import arff

        try:
            columns, _ = arff.loadarff(path)
            return np.column_stack([np.asarray(columns[name], dtype=np.float64) for name in columns.dtype.names or ()])
        except StopIteration:
            raise DataError(f"{path} is not a complete ARFF file.") from None
        except (NotImplementedError, *READ_ERRORS) as error:
            raise DataError(f"{path} cannot be read: {short_reason(error)}.") from None
    table: Any = read_points(path)
    if not isinstance(table, Table):
        raise DataError(f"{path} holds a sparse matrix: give a table of a label and 256 pixels a row.")
    return np.asarray(table.values, dtype=np.float64)


def _separate_labels(table: FloatArray, name: str) -> tuple[FloatArray, NDArray[np.int64]]:
    """Separate the labels from the pixels.

    OpenML numbers the digits 0 to 9 as 1 to 10. The labels are the first column or the last.
    """
    for column in (0, table.shape[1] - 1):
        values = table[:, column]
        if np.array_equal(np.unique(values), np.arange(1.0, 11.0)) or np.array_equal(np.unique(values), np.arange(10.0)):
            pixels = np.delete(table, column, axis=1)
            low, high = float(pixels.min()), float(pixels.max())
            scaled = pixels if low < 0 else 2 * (pixels - low) / max(high - low, 1e-300) - 1
            return np.ascontiguousarray(scaled), (values - values.min()).astype(np.int64)
    raise DataError(f"{name} has no column of labels from 1 to 10 (or 0 to 9), neither first nor last.")
