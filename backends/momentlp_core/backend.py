"""The search for whole sets as a backend. Linear programs go to the backend that ``"auto"`` would choose."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from momentlp.backend.auto import choose_backend
from momentlp.backend.interface import Answer, Backend, Capability, Options
from momentlp.backend.registry import find_backend, get_backend
from momentlp.errors import OptionError
from momentlp.problem.problem import Problem
from momentlp_core.options import NATIVE_OPTIONS, check_exchanges, check_random_state
from momentlp_core.search import Search

__all__ = ["Core"]


class Core(Backend):
    """Whole sets from the core: the points near the hyperplane of the linear program.

    Parameters
    ----------
    **native
        Native options: ``integer_backend`` solves the small integer programs (default ``"highs"``), ``random_state`` chooses
        among exchanges (default 0), ``exchanges`` is how many of them are tried if there is no time limit (default 50,000).

    Examples
    --------
    >>> from dataclasses import replace
    >>> from momentlp import Problem, solve
    >>> problem = replace(Problem.from_arrays([[-1.0], [2.0], [3.0]], lower=-1.0, upper=1.0), whole=True)
    >>> solve(problem, Core()).objective
    2.0
    """

    name: ClassVar[str] = "core"
    engine: ClassVar[str] = "HiGHS"
    package: ClassVar[str] = "highspy"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(Capability)
    is_linear: ClassVar[bool] = False

    @classmethod
    def version(cls) -> str:
        """Return the version of the default inner solver."""
        return find_backend("highs").version()

    def run(self, problem: Problem, options: Options) -> Answer:
        """Find a whole set; without that condition, let the backend for linear programs solve the problem."""
        self.reject_unknown(options.native, NATIVE_OPTIONS)
        native = {**NATIVE_OPTIONS, **options.native}
        random, exchanges = check_random_state(native["random_state"]), check_exchanges(native["exchanges"])
        if not problem.is_whole:
            linear = get_backend(choose_backend(problem))
            return linear.run(problem, replace(options, native=dict(linear.native)))
        inner = get_backend(native["integer_backend"])
        if isinstance(inner, Core) or Capability.INTEGER not in inner.capabilities:
            raise OptionError(
                f"core's option 'integer_backend' must name a backend that solves integer programs, not {inner.name!r}."
            )
        return Search(problem, inner, options, random, exchanges).run()
