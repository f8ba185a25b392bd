"""Data that does not come with an installed package."""

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
N_SET_APART = 3100  # images from which the paper draws its samples; the other 6198 are to be sorted


def load_usps(folder: str | Path | None = None) -> tuple[FloatArray, NDArray[np.int64]]:
    """Load the USPS digits: 9298 images of 256 pixels in [-1, 1], and their labels.

    Parameters
    ----------
    folder : path, optional
        Where ``zip.train.gz`` and ``zip.test.gz`` are (a label and 256 pixels a line; 7291 and 2007 lines, in that order in
        the result). Default: the folder that the environment variable ``MOMENTLP_USPS`` names.

    Raises
    ------
    DataError
        If the files are not there or are not the USPS digits.
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
    """Split as the paper does: 6198 unlabelled images, and a sample of one digit from the other 3100.

    Returns
    -------
    unlabelled : array, shape (6198, 256)
    truth : array of bool, shape (6198,)
        Which of them are the digit.
    sample : array, shape (n_known, 256)

    Raises
    ------
    DataError
        If there are fewer than ``n_known`` of the digit among the 3100.
    """
    return class_split(X, labels, n_known, N_SET_APART, random_state, digit)


def class_split(
    X: FloatArray, labels: NDArray[np.int64], n_known: int, n_apart: int, random_state: int = 0, digit: int = 0
) -> tuple[FloatArray, NDArray[np.bool_], FloatArray]:
    """Set ``n_apart`` random points apart and draw the labelled sample from them. See :func:`usps_split`."""
    random = np.random.default_rng(random_state)
    order = random.permutation(len(X))
    rest, unlabelled = order[:n_apart], order[n_apart:]
    members = rest[labels[rest] == digit]
    if n_known > members.size:
        raise DataError(
            f"n_known is {n_known}, but of the {n_apart} points set apart under random_state={random_state} only "
            f"{members.size} are of class {digit}: ask for fewer."
        )
    known = random.choice(members, n_known, replace=False)
    return X[unlabelled], labels[unlabelled] == digit, X[known]
