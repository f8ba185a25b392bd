"""Timing by ratio: the same work by several ways in the same run, interleaved, medians compared."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from momentlp.datasets import USPS_VARIABLE, load_usps, usps_split

__all__ = ["interleaved", "print_ratios", "usps_protocol"]


def interleaved(ways: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Time each way once per round, one after the other, after one round that is thrown away."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, work in ways.items():
            started = time.perf_counter()
            work()
            if number:
                seconds[name].append(time.perf_counter() - started)
    return seconds


def print_ratios(seconds: dict[str, list[float]], peer: str) -> None:
    """Print medians, and the median over rounds of each way's ratio to the peer of the same round."""
    print(f"{'':<32}{'median s':>10}{'range':>16}{'ratio':>10}   (to {peer})")
    for name, times in seconds.items():
        ratio = statistics.median(own / other for own, other in zip(times, seconds[peer], strict=True))
        print(f"{name:<32}{statistics.median(times):>10.3f}{f'{min(times):.3f}-{max(times):.3f}':>16}{ratio:>10.3f}")


def usps_protocol(n_known: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the paper's split: 6198 unlabelled digits, and known zeros from the other 3100."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data" / "usps"
    X, y = load_usps(os.environ.get(USPS_VARIABLE) or (beside if beside.is_dir() else None))
    unlabelled, _, sample = usps_split(X, y, n_known, seed)
    return unlabelled, sample
