"""Wall-clock time of the steps of a solve."""

from __future__ import annotations

import time

__all__ = ["StepTimer"]


class StepTimer:
    """Measure consecutive steps. The first step begins when the timer is made.

    Attributes
    ----------
    seconds : dict of str to float
        The time of every finished step. Steps of the same name are added up.

    Examples
    --------
    >>> timer = StepTimer()
    >>> timer.finish_step("scale")
    >>> timer.finish_step("run")
    >>> list(timer.seconds)
    ['scale', 'run']
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._step_start = time.perf_counter()

    def finish_step(self, name: str) -> None:
        """Add the time since the last finished step to the step of this name."""
        now = time.perf_counter()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self._step_start
        self._step_start = now

    @property
    def total(self) -> float:
        """The seconds of all finished steps together."""
        return sum(self.seconds.values())
