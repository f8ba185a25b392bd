"""Run an experiment: what is missing of it, in worker processes, each result kept as it comes."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import momentlp
from momentlp.errors import OptionError, SolverError
from momentlp.experiments.engine.digit_images import Digits
from momentlp.experiments.engine.journal import Journal, Record
from momentlp.experiments.engine.report import Report
from momentlp.runtime.atomic_files import write_atomically
from momentlp.runtime.messages import error_text
from momentlp.runtime.progress_bar import show_progress as shown
from momentlp.solving.many.job import CallJob
from momentlp.solving.many.pool import run_in_pool

__all__ = ["Experiment", "Settings", "Task", "run"]

PACKAGES = ("momentlp", "numpy", "scipy", "scikit-learn", "highspy")
SUMMARY = "report.md"


@dataclass(frozen=True, eq=False)
class Settings:
    """What the user chose.

    Attributes
    ----------
    splits : int
        Random splits, or draws of synthetic data.
    seed : int
        Split number k is made from seed + k.
    data : Digits or None
        The images; None for experiments that need none.
    epsilon : float or None
        The tolerance on the sum; None for that of the data.
    """

    splits: int = 100
    seed: int = 0
    data: Digits | None = None
    epsilon: float | None = None

    @property
    def digits(self) -> Digits:
        """The images."""
        if self.data is None:
            raise OptionError("this experiment needs images: give data.")
        return self.data

    @property
    def eps(self) -> float:
        """The tolerance on the sum."""
        return self.digits.epsilon if self.epsilon is None else self.epsilon

    def numbers(self, most: int | None = None) -> range:
        """Return the numbers of the splits; the first few, where that does."""
        return range(self.seed, self.seed + (self.splits if most is None else min(self.splits, most)))


@dataclass(frozen=True, eq=False)
class Task:
    """A piece of work: its name, and a function without arguments that returns records.

    It must not depend on what else is done, nor on when: whatever is random in it comes from a seed.
    """

    key: str
    work: Callable[[], list[Record]]


@dataclass(frozen=True, eq=False)
class Experiment:
    """Tasks and the report on them.

    Attributes
    ----------
    name, title : str
    tasks : callable
        From settings to the tasks.
    report : callable
        From settings and all records, in the order of the tasks, to the report.
    needs_data, needs_epsilon : bool
        What the results depend on besides the seed. Results of a few splits are kept when more are asked for.
    """

    name: str
    title: str
    tasks: Callable[[Settings], Iterable[Task]]
    report: Callable[[Settings, list[Record]], Report]
    needs_data: bool = True
    needs_epsilon: bool = False

    def identity(self, settings: Settings) -> dict[str, Any]:
        """Return what the results depend on, as plain values."""
        chosen: dict[str, Any] = {"experiment": self.name, "seed": settings.seed}
        if self.needs_data:
            chosen |= {"data": settings.digits.name, "digest": settings.digits.digest}
        if self.needs_epsilon:
            chosen["epsilon"] = settings.eps
        versions = {package: version(package) for package in PACKAGES}
        return chosen | {"python": platform.python_version()} | versions | {"code": _code()}


@cache
def _code() -> str:
    """Return what tells this code from any other: a journal is not to hold results of two."""
    content = hashlib.sha256()
    for path in sorted(Path(momentlp.__file__).parent.rglob("*.py")):
        content.update(path.read_bytes())
    return content.hexdigest()[:16]


def run(
    experiment: Experiment,
    settings: Settings,
    folder: Path,
    *,
    jobs: int = 1,
    progress: bool | Callable[[int, int | None], Any] = False,
) -> Report:
    """Do what is missing, write the report to the folder and return it.

    Raises
    ------
    DataError
        If the folder holds results of other settings.
    SolverError
        If some tasks failed, after all others were done; the next run tries them again.
    """
    if jobs < 1:
        raise OptionError(f"jobs must be at least 1, not {jobs}.")
    if settings.splits < 1:
        raise OptionError(f"splits must be at least 1, not {settings.splits}.")
    if settings.epsilon is not None and not 0 <= settings.epsilon < float("inf"):
        raise OptionError(f"epsilon must be a finite number of at least 0, not {settings.epsilon}.")
    with Journal(folder, experiment.identity(settings)) as journal:
        tasks = list(experiment.tasks(settings))
        missing = [task for task in tasks if task.key not in journal.done]
        failed: list[str] = []
        with shown(progress, len(missing)) as tell:
            count = 0

            def finished(index: int, _: Any, good: bool, value: Any) -> None:
                nonlocal count
                if good:
                    journal.append(missing[index].key, value)
                else:
                    failed.append(f"{missing[index].key}: {error_text(value)}")
                count += 1
                tell(count)

            if missing:
                run_in_pool(CallJob("auto", {}, None), (task.work for task in missing), finished, jobs, threads=1)
        if failed:
            raise SolverError(
                f"{len(failed)} of {len(tasks)} pieces of {experiment.name} failed; the others are kept, and the next run "
                f"tries these again. The first: {failed[0]}"
            )
        report = experiment.report(settings, [record for task in tasks for record in journal.done[task.key]])
        if experiment.needs_data and not settings.digits.real:
            report = report.undecided()
        report.write(folder)
        text = report.text(experiment.title)
        write_atomically(folder / SUMMARY, lambda stream: stream.write(text.encode()))
    return report
