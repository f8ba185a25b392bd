"""Sifting: exact optima of problems with many points and few moments, an order of magnitude faster than a general solver.

A sample of the points gives a first hyperplane. Points far from it keep their side; those near it make up a small problem,
which is solved exactly (:mod:`.restricted`): by an interior-point method that finds what matters (:mod:`.interior`), then by
the simplex method of another backend on that. One pass over all points (:mod:`.pricing`) finds those that the new hyperplane
puts on the other side; they come in, and so on until there are none. Then the small optimum is the optimum of the whole: the
scores of all points agree with their memberships, which is what the certificate checks.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from momentlp.backend.interface import Answer, Backend, Capability, Options, Outcome
from momentlp.backend.registry import find_backend, get_backend
from momentlp.errors import OptionError
from momentlp.problem.problem import Problem
from momentlp_sifting.restricted import StoppedError
from momentlp_sifting.sift import Sift

__all__ = ["Sifting"]

DEFAULTS: dict[str, Any] = {"backend": "highs", "random_state": 0, "room": 1 << 27}
LEAST_ROOM = 1 << 20


class Sifting(Backend):
    """Sifting. Its options are ``Sifting(backend="highs", random_state=0, room=2**27)``.

    ``backend`` solves the small problems, ``random_state`` draws the samples, and ``room`` is how many bytes of rows a
    sample, or the points near the hyperplane, may take.
    """

    name: ClassVar[str] = "sifting"
    engine: ClassVar[str] = "HiGHS"
    package: ClassVar[str] = "highspy"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(Capability)

    @classmethod
    def version(cls) -> str:
        """Return the version of the solver inside."""
        return find_backend(DEFAULTS["backend"]).version()

    def inner(self, backend: str | Backend) -> Backend:
        """Return the backend for the small problems."""
        inner = get_backend(backend)
        if isinstance(inner, Sifting):
            raise OptionError("sifting cannot solve its small problems by sifting: give another backend, such as 'highs'.")
        return inner

    def run(self, problem: Problem, options: Options) -> Answer:
        """Solve."""
        self.reject_unknown(options.native, DEFAULTS)
        native = DEFAULTS | dict(options.native)
        try:
            random = np.random.default_rng(native["random_state"])
        except (TypeError, ValueError):
            raise OptionError(f"sifting needs a whole number for random_state, not {native['random_state']!r}.") from None
        room = native["room"]
        if isinstance(room, bool) or not isinstance(room, Integral) or room < LEAST_ROOM:
            raise OptionError(f"sifting needs at least {LEAST_ROOM} bytes for room, as a whole number, not {room!r}.")
        inner = self.inner(native["backend"])
        for capability in options.asked() - inner.capabilities - {Capability.START}:
            raise OptionError(f"backend {inner.name!r}, inside sifting, cannot honour {capability.value}: leave it out.")
        return _answer(Sift(problem, inner, options, random, int(room)))


def _answer(sift: Sift) -> Answer:
    """Run, and say how it went."""
    outcome, message = Outcome.OPTIMAL, "optimal"
    try:
        h, y = sift.run()
    except StoppedError as stopped:
        h, y = stopped.pair
        outcome, message = stopped.answer.outcome, stopped.answer.message
    tally = sift.tally
    if sift.gave_up:
        message += ", by the inner backend on the whole"
    return Answer(
        outcome,
        membership=h,
        multipliers=y,
        message=(
            f"sifting: {message} ({sift.passes} passes over the points, {tally.steps} interior steps, "
            f"{tally.programs} small programs, the largest of {tally.largest[0]} points and {tally.largest[1]} moments)"
        ),
        iterations=tally.steps + tally.iterations,
        engine=sift.inner.engine,
    )
