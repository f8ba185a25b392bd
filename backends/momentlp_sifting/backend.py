"""Sifting as a backend: its options, and another backend inside that solves the restricted problems."""

from __future__ import annotations

from typing import ClassVar

from momentlp.backend.interface import Answer, Backend, Capability, Options, Outcome
from momentlp.backend.registry import find_backend, get_backend
from momentlp.errors import OptionError
from momentlp.problem.problem import Problem
from momentlp_sifting.options import NATIVE_OPTIONS, check_random_state, check_room
from momentlp_sifting.restricted_master import StoppedError
from momentlp_sifting.sifting import SiftingRun

__all__ = ["Sifting"]


class Sifting(Backend):
    """Sifting.

    Parameters
    ----------
    **native
        Native options: ``backend`` solves the restricted problems (default ``"highs"``), ``random_state`` draws the samples
        (default 0), ``room`` is how many bytes the rows of a sample, or of a restricted problem, may take (default 128 MiB).

    Examples
    --------
    >>> from momentlp import Problem, solve
    >>> problem = Problem.from_arrays([[-1.0], [1.0], [3.0]], lower=0.0, upper=0.0)
    >>> solve(problem, Sifting(random_state=1)).objective
    2.0
    """

    name: ClassVar[str] = "sifting"
    engine: ClassVar[str] = "HiGHS"
    package: ClassVar[str] = "highspy"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(Capability) - {Capability.INTEGER}

    @classmethod
    def version(cls) -> str:
        """Return the version of the default inner solver."""
        return find_backend(NATIVE_OPTIONS["backend"]).version()

    def run(self, problem: Problem, options: Options) -> Answer:
        """Solve a problem by sifting."""
        self.reject_unknown(options.native, NATIVE_OPTIONS)
        native = {**NATIVE_OPTIONS, **options.native}
        random, room = check_random_state(native["random_state"]), check_room(native["room"])
        inner = self.inner(native["backend"])
        for capability in options.asked() - inner.capabilities - {Capability.START}:
            raise OptionError(f"backend {inner.name!r}, inside sifting, cannot honour {capability.value}: leave it out.")
        return _build_answer(SiftingRun(problem, inner, options, random, room))

    def inner(self, backend: str | Backend) -> Backend:
        """Return the backend for the restricted problems.

        Parameters
        ----------
        backend : str or Backend
            A registered name, or an instance; not sifting itself.

        Returns
        -------
        Backend

        Raises
        ------
        OptionError
            If the backend is sifting itself.
        BackendNotFoundError
            If no backend has this name.
        """
        inner = get_backend(backend)
        if isinstance(inner, Sifting):
            raise OptionError("sifting cannot solve its small problems by sifting: give another backend, such as 'highs'.")
        return inner


def _build_answer(run: SiftingRun) -> Answer:
    """Run, and describe in the message how much work it took."""
    outcome, message = Outcome.OPTIMAL, "optimal"
    try:
        h, y = run.run()
    except StoppedError as stopped:
        h, y = stopped.pair
        outcome, message = stopped.answer.outcome, stopped.answer.message
    tally = run.tally
    if run.used_inner_backend:
        message += ", by the inner backend on the whole"
    return Answer(
        outcome,
        membership=h,
        multipliers=y,
        message=(
            f"sifting: {message} ({run.passes} passes over the points, {tally.steps} interior steps, "
            f"{tally.programs} small programs, the largest of {tally.largest[0]} points and {tally.largest[1]} moments)"
        ),
        iterations=tally.steps + tally.iterations,
        engine=run.inner.engine,
    )
