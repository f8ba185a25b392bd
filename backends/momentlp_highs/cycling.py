"""A limit on the iterations of the simplex method, and another method where it is reached.

HiGHS's dual simplex sometimes cycles on degenerate problems: it goes on for hundreds of thousands of iterations where the
primal simplex needs a hundred. Without a time limit that would never end. So each method gets a number of iterations that
grows with the problem, far more than it needs, and the next one takes over: dual simplex, primal simplex, interior point.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from momentlp.backend.interface import Options
from momentlp_highs.options import set_option

__all__ = ["run_without_cycling"]

BASE_ITERATIONS, ITERATIONS_PER_SIZE = 5000, 10  # the limit is the first, plus the second per row and column
# In what the caller set, these options decide about methods and iterations: then they are not changed.
OWN_CHOICE = {"solver", "simplex_strategy", "simplex_iteration_limit", "run_crossover"}
PRIMAL_SIMPLEX = 4
OTHER_METHODS: tuple[dict[str, Any], ...] = ({"simplex_strategy": PRIMAL_SIMPLEX}, {"solver": "ipm"})


def run_without_cycling(highs: Any, options: Options, run: Callable[[], None]) -> bool:
    """Run HiGHS, by another method if the simplex method seems to cycle.

    Parameters
    ----------
    highs : highspy.Highs
        With a model and all options.
    options : Options
        What the caller asked for. Limits and methods of his own are kept.
    run : callable
        Runs HiGHS.

    Returns
    -------
    bool
        Whether all methods seemed to cycle.
    """
    if options.iteration_limit is not None or OWN_CHOICE & set(options.native):
        run()
        return False
    set_option(highs, "simplex_iteration_limit", iteration_budget(highs.getNumRow(), highs.getNumCol()))
    run()
    for method in OTHER_METHODS:
        if highs.getModelStatus().name != "kIterationLimit":
            return False
        for name, value in method.items():
            set_option(highs, name, value)
        run()
    return bool(highs.getModelStatus().name == "kIterationLimit")


def iteration_budget(n_rows: int, n_columns: int) -> int:
    """Return the iterations that a method gets."""
    return BASE_ITERATIONS + ITERATIONS_PER_SIZE * (n_rows + n_columns)
