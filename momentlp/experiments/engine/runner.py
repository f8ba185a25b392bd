"""Run the missing tasks of an experiment in worker processes, and write each result to the journal at once."""

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
from momentlp.runtime.argument_checks import check_integer, check_number
from momentlp.runtime.atomic_files import write_atomically
from momentlp.runtime.messages import error_text
from momentlp.runtime.progress_bar import show_progress
from momentlp.solving.many.job import CallJob
from momentlp.solving.many.pool import run_in_pool

__all__ = ["Experiment", "Settings", "Task", "run"]

PACKAGES = ("momentlp", "numpy", "scipy", "scikit-learn", "highspy")
SUMMARY = "report.md"


@dataclass(frozen=True, eq=False)
class Settings:
    """The settings that users choose.

    Attributes
    ----------
    splits : int
        Number of random splits, or of draws of synthetic data.
    seed : int
        Split k is drawn with seed + k.
    data : Digits or None
        The images; None for experiments without images.
    epsilon : float or None
        The tolerance on the sum; None for the default of the images.
    """

    splits: int = 100
    seed: int = 0
    data: Digits | None = None
    epsilon: float | None = None

    @property
    def digits(self) -> Digits:
        """The images."""
        if self.data is None:
            raise OptionError("this experiment needs images: pass data to Settings.")
        return self.data

    @property
    def eps(self) -> float:
        """The tolerance on the sum."""
        return self.digits.epsilon if self.epsilon is None else self.epsilon

    def split_numbers(self, maximum: int | None = None) -> range:
        """Return the numbers of the splits, at most ``maximum`` of them."""
        return range(self.seed, self.seed + (self.splits if maximum is None else min(self.splits, maximum)))


@dataclass(frozen=True, eq=False)
class Task:
    """A task: its key in the journal, and a function without arguments that returns records.

    The result must not depend on other tasks or on the order of the tasks. Randomness comes from a seed.
    """

    key: str
    work: Callable[[], list[Record]]


@dataclass(frozen=True, eq=False)
class Experiment:
    """An experiment: its tasks, and the report on their records.

    Attributes
    ----------
    name, title : str
        The command and folder, and the heading.
    tasks : callable
        From settings to the tasks.
    report : callable
        From settings and all records, in the order of the tasks, to the report.
    needs_data, needs_epsilon : bool
        What the results depend on besides the seed. They do not depend on the number of splits: more can be added.
    """

    name: str
    title: str
    tasks: Callable[[Settings], Iterable[Task]]
    report: Callable[[Settings, list[Record]], Report]
    needs_data: bool = True
    needs_epsilon: bool = False

    def identity(self, settings: Settings) -> dict[str, Any]:
        """Return what the results depend on, as values that JSON has."""
        chosen: dict[str, Any] = {"experiment": self.name, "seed": settings.seed}
        if self.needs_data:
            chosen |= {"data": settings.digits.name, "digest": settings.digits.digest}
        if self.needs_epsilon:
            chosen["epsilon"] = settings.eps
        versions = {package: version(package) for package in PACKAGES}
        return chosen | {"python": platform.python_version()} | versions | {"code": _code_digest()}


@cache
def _code_digest() -> str:
    """Return a digest of the code of momentlp, so that a journal never mixes results of two versions."""
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
    """Run the missing tasks, write the report to the folder and return it.

    Parameters
    ----------
    experiment : Experiment
    settings : Settings
    folder : path
        For the journal and the report.
    jobs : int
        Number of processes.
    progress : bool or callable
        Whether to show progress, or a function of the number done and the number in all.

    Raises
    ------
    DataError
        If the folder holds results of other settings.
    SolverError
        If some tasks failed. All others are done first, and the next run tries the failed ones again.
    """
    check_integer("jobs", jobs, minimum=1)
    check_integer("splits", settings.splits, minimum=1)
    if settings.epsilon is not None:
        check_number("epsilon", settings.epsilon, minimum=0)
    with Journal(folder, experiment.identity(settings)) as journal:
        tasks = list(experiment.tasks(settings))
        missing = [task for task in tasks if task.key not in journal.done]
        failed: list[str] = []
        with show_progress(progress, len(missing)) as report_progress:
            count = 0

            def on_result(index: int, _: Any, good: bool, value: Any) -> None:
                nonlocal count
                if good:
                    journal.append(missing[index].key, value)
                else:
                    failed.append(f"{missing[index].key}: {error_text(value)}")
                count += 1
                report_progress(count)

            if missing:
                run_in_pool(CallJob("auto", {}, None), (task.work for task in missing), on_result, jobs, threads=1)
        if failed:
            raise SolverError(
                f"{len(failed)} of {len(tasks)} tasks of {experiment.name} failed. The results of the others are kept, and "
                f"the next run tries the failed ones again. The first error: {failed[0]}"
            )
        report = experiment.report(settings, [record for task in tasks for record in journal.done[task.key]])
        if experiment.needs_data and not settings.digits.is_usps:
            report = report.without_verdicts()
        report.write(folder)
        text = report.to_markdown(experiment.title)
        write_atomically(folder / SUMMARY, lambda stream: stream.write(text.encode()))
    return report
