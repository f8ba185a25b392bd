"""The USPS digits: a reader for the two files, which do not come with the package, and the split of the paper."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from momentlp.errors import DataError
from momentlp.points.arrays import FloatArray

__all__ = ["class_split", "load_usps", "usps_split"]

USPS_FILES = ("zip.train.gz", "zip.test.gz")
USPS_VARIABLE = "MOMENTLP_USPS"
N_SET_APART = 3100  # images from which the paper draws its labelled samples; the other 6198 are unlabelled


def load_usps(folder: str | Path | None = None) -> tuple[FloatArray, NDArray[np.int64]]:
    """Load the USPS digits: 9298 images of 256 pixels, and their labels.

    Parameters
    ----------
    folder : str or Path, optional
        The folder of ``zip.train.gz`` (7291 lines) and ``zip.test.gz`` (2007 lines). Each line holds a label and 256 pixels.
        Default: the folder in the environment variable ``MOMENTLP_USPS``.

    Returns
    -------
    X : array, shape (9298, 256)
        Pixels in [-1, 1]; the training images come first.
    labels : array of int, shape (9298,)
        Digits from 0 to 9.

    Raises
    ------
    DataError
        If no folder is given, or a file is missing or does not hold the USPS digits.

    Examples
    --------
    >>> from momentlp.datasets.usps import load_usps
    >>> X, labels = load_usps("data/usps")  # doctest: +SKIP
    """
    folder = folder or os.environ.get(USPS_VARIABLE)
    if folder is None:
        raise DataError(
            f"the USPS digits do not come with momentlp: download {' and '.join(USPS_FILES)} (they belong to the book 'The "
            f"Elements of Statistical Learning'), then pass their folder or set the environment variable {USPS_VARIABLE}."
        )
    parts = []
    for name in USPS_FILES:
        path = Path(folder) / name
        try:
            with gzip.open(path, "rt") as stream:
                parts.append(np.loadtxt(stream))
        except FileNotFoundError:
            raise DataError(f"there is no {name} in {str(folder)!r}: both {' and '.join(USPS_FILES)} are needed.") from None
        except (OSError, ValueError, EOFError) as error:
            raise DataError(f"{path} is not a file of USPS digits: {error}.") from None
        if parts[-1].ndim != 2 or parts[-1].shape[1] != 257:
            raise DataError(f"{path} is not a file of USPS digits: expected a label and 256 pixels in every line.")
    table = np.vstack(parts)
    return np.ascontiguousarray(table[:, 1:]), table[:, 0].astype(np.int64)


def usps_split(
    X: FloatArray, labels: NDArray[np.int64], n_known: int, random_state: int = 0, digit: int = 0
) -> tuple[FloatArray, NDArray[np.bool_], FloatArray]:
    """Split the USPS digits as the paper does: 6198 unlabelled images, and a sample of one digit from the other 3100.

    Parameters
    ----------
    X, labels : array
        What :func:`load_usps` returns.
    n_known : int
        Size of the labelled sample.
    random_state : int
        Seed of the split.
    digit : int
        The class to find.

    Returns
    -------
    unlabelled : array, shape (6198, 256)
    truth : array of bool, shape (6198,)
        Which of them show the digit.
    sample : array, shape (n_known, 256)
        The labelled images, all of the digit.

    Raises
    ------
    DataError
        If fewer than ``n_known`` of the 3100 images show the digit.

    Examples
    --------
    >>> from momentlp.datasets.usps import load_usps, usps_split
    >>> unlabelled, truth, sample = usps_split(*load_usps(), n_known=50)  # doctest: +SKIP
    """
    return class_split(X, labels, n_known, N_SET_APART, random_state, digit)


def class_split(
    X: FloatArray, labels: NDArray[np.int64], n_known: int, n_apart: int, random_state: int = 0, digit: int = 0
) -> tuple[FloatArray, NDArray[np.bool_], FloatArray]:
    """Set random points apart, and draw the labelled sample of one class from them.

    Parameters
    ----------
    X : array, shape (N, d)
    labels : array of int, shape (N,)
    n_known : int
        Size of the labelled sample.
    n_apart : int
        Number of points to set apart.
    random_state : int
        Seed of the split.
    digit : int
        The label of the class to find.

    Returns
    -------
    unlabelled : array, shape (N - n_apart, d)
    truth : array of bool, shape (N - n_apart,)
        Which of them belong to the class.
    sample : array, shape (n_known, d)
        The labelled points.

    Raises
    ------
    DataError
        If fewer than ``n_known`` of the points set apart belong to the class.

    Examples
    --------
    >>> import numpy as np
    >>> from momentlp.datasets.usps import class_split
    >>> X, labels = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    >>> unlabelled, truth, sample = class_split(X, labels, n_known=2, n_apart=8, digit=1)
    >>> unlabelled.shape, truth.shape, sample.shape
    ((12, 2), (12,), (2, 2))
    """
    random = np.random.default_rng(random_state)
    order = random.permutation(len(X))
    apart, unlabelled = order[:n_apart], order[n_apart:]
    members = apart[labels[apart] == digit]
    if n_known > members.size:
        raise DataError(
            f"n_known is {n_known}, but of the {n_apart} points set apart with random_state={random_state} only "
            f"{members.size} are of class {digit}: use a smaller n_known."
        )
    known = random.choice(members, n_known, replace=False)
    return X[unlabelled], labels[unlabelled] == digit, X[known]
