"""Timing by ratio: the same work done by several functions in one run, in turns, and medians compared.

Absolute seconds differ between machines and between hours. The ratio within one round of the same run does not.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["GaveUpError", "median_ratio", "print_ratios", "time_interleaved"]


class GaveUpError(Exception):
    """A function cannot go on: a package is missing, it took too long, or it failed. The others continue."""


def time_interleaved(
    functions: Mapping[str, Callable[[], Any]], rounds: int, budget: float = math.inf
) -> dict[str, list[float]]:
    """Time each function once per round, one after the other, after one round of warming up.

    Parameters
    ----------
    functions : mapping of str to callable
    rounds : int
        Rounds that count. The round before them is not counted.
    budget : float
        Seconds. A function that has used them up skips the remaining rounds. If it did so in the first round already, that
        time is kept, because warming up is a small part of it.

    Returns
    -------
    dict of str to list of float
        Seconds of each round, by name. Empty for a function that raised :class:`GaveUpError`.
    """
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    spent = dict.fromkeys(functions, 0.0)
    for number in range(rounds + 1):
        for name, function in functions.items():
            if spent[name] >= budget:
                continue
            started = time.perf_counter()
            try:
                function()
            except GaveUpError:
                seconds[name], spent[name] = [], math.inf
                continue
            took = time.perf_counter() - started
            spent[name] += took
            if number or spent[name] >= budget:
                seconds[name].append(took)
    return seconds


def median_ratio(times: list[float], reference: list[float]) -> float:
    """Return the median over rounds of ``times`` over ``reference`` in the same round; NaN without a common round."""
    pairs = zip(times, reference, strict=False)
    return statistics.median([own / other for own, other in pairs] or [math.nan])


def print_ratios(seconds: dict[str, list[float]], reference: str) -> None:
    """Print the median and the range of each function's seconds, and its median ratio to the reference."""
    print(f"{'':<32}{'median s':>10}{'range':>16}{'ratio':>10}   (to {reference})")
    for name, times in seconds.items():
        if not times:
            print(f"{name:<32}{'gave up':>10}")
            continue
        span = f"{min(times):.3f}-{max(times):.3f}"
        print(f"{name:<32}{statistics.median(times):>10.3f}{span:>16}{median_ratio(times, seconds[reference]):>10.3f}")
