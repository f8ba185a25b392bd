"""The USPS digits for the benchmarks.

``python -m benchmarks.common.usps_digits`` says whether they can be read: exit status 0 if so, 1 if not. The Makefile uses
it to leave out the benchmarks that need them.
"""

from __future__ import annotations

import os
import sys

import numpy as np

from benchmarks.common.folders import USPS_BESIDE
from momentlp.datasets.usps import USPS_VARIABLE, load_usps, usps_split
from momentlp.errors import DataError

__all__ = ["load_usps_digits", "reason_without_usps", "split_usps_digits"]


def load_usps_digits() -> tuple[np.ndarray, np.ndarray]:
    """Return the USPS digits, shape (9298, 256), and their labels.

    They are read from the folder in ``MOMENTLP_USPS``, or else from ``shared/data/usps`` beside the project.

    Raises
    ------
    DataError
        If the files are in neither folder.
    """
    return load_usps(os.environ.get(USPS_VARIABLE) or (USPS_BESIDE if USPS_BESIDE.is_dir() else None))


def split_usps_digits(n_known: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the paper's split: 6198 unlabelled digits, and ``n_known`` labelled zeros from the other 3100."""
    unlabelled, _, sample = usps_split(*load_usps_digits(), n_known, seed)
    return unlabelled, sample


def reason_without_usps() -> str:
    """Say why the digits cannot be read; empty if they can."""
    try:
        load_usps_digits()
    except DataError as error:
        return str(error)
    return ""


def main() -> int:
    """Print why the digits cannot be read, if so, and return the exit status."""
    reason = reason_without_usps()
    if reason:
        print(f"Benchmarks that need the USPS digits are left out: {reason}")
    return int(bool(reason))


if __name__ == "__main__":
    sys.exit(main())
