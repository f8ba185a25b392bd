"""Timing by ratio: the same work by several ways in the same run, interleaved, medians compared."""

from __future__ import annotations

import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from momentlp.datasets.usps import USPS_VARIABLE, load_usps, usps_split
from momentlp.errors import DataError

__all__ = ["GaveUpError", "interleaved", "print_ratios", "ratio", "usps", "usps_protocol"]


class GaveUpError(Exception):
    """A way cannot go on: it is not installed, took too long, or broke. It sits out the rest; the others go on."""


def interleaved(ways: Mapping[str, Callable[[], Any]], rounds: int, budget: float = math.inf) -> dict[str, list[float]]:
    """Time each way once per round, one after the other, after one round that is thrown away.

    A way that has used up ``budget`` seconds sits out the rounds that are left; if it did so in the first round already,
    that one time is kept: warming up is a small part of it. A way that raises :class:`GaveUpError` has no times.
    """
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    spent = dict.fromkeys(ways, 0.0)
    for number in range(rounds + 1):
        for name, work in ways.items():
            if spent[name] >= budget:
                continue
            started = time.perf_counter()
            try:
                work()
            except GaveUpError:
                seconds[name], spent[name] = [], math.inf
                continue
            took = time.perf_counter() - started
            spent[name] += took
            if number or spent[name] >= budget:
                seconds[name].append(took)
    return seconds


def ratio(times: list[float], peer: list[float]) -> float:
    """Return the median over rounds of the ratio within a round; over the rounds that both took part in."""
    pairs = zip(times, peer, strict=False)
    return statistics.median([own / other for own, other in pairs] or [math.nan])


def print_ratios(seconds: dict[str, list[float]], peer: str) -> None:
    """Print medians, and the median over rounds of each way's ratio to the peer of the same round."""
    print(f"{'':<32}{'median s':>10}{'range':>16}{'ratio':>10}   (to {peer})")
    for name, times in seconds.items():
        if not times:
            print(f"{name:<32}{'gave up':>10}")
            continue
        span = f"{min(times):.3f}-{max(times):.3f}"
        print(f"{name:<32}{statistics.median(times):>10.3f}{span:>16}{ratio(times, seconds[peer]):>10.3f}")


def usps() -> tuple[np.ndarray, np.ndarray]:
    """Return the USPS digits and their labels, from ``MOMENTLP_USPS`` or from ``shared/data/usps`` beside the repository."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data" / "usps"
    return load_usps(os.environ.get(USPS_VARIABLE) or (beside if beside.is_dir() else None))


def usps_protocol(n_known: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the paper's split: 6198 unlabelled digits, and known zeros from the other 3100."""
    unlabelled, _, sample = usps_split(*usps(), n_known, seed)
    return unlabelled, sample


def main() -> int:
    """Say whether the USPS digits are there: what needs them is left out otherwise."""
    try:
        usps()
    except DataError as error:
        print(f"Left out what needs the USPS digits: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
