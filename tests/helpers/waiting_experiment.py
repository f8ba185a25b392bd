"""An experiment whose last tasks wait for a file, so that a test decides when the run can end."""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from momentlp.experiments.engine.report import Claim, Report, Table
from momentlp.experiments.engine.runner import Experiment, Settings, Task, run

N_TASKS, N_FREE = 6, 3  # the first N_FREE tasks do not wait


def measure(number: int, gate: str) -> list[dict[str, Any]]:
    """Return the square of a number; for all but the first few, as soon as the file exists."""
    while number >= N_FREE and not Path(gate).exists():
        time.sleep(0.01)
    return [{"number": number, "square": number**2}]


def main() -> None:
    """Run the experiment: the arguments are the folder of results and the file to wait for."""
    folder, gate = sys.argv[1:]

    def tasks(settings: Settings) -> list[Task]:
        return [Task(f"{number}", partial(measure, number, gate)) for number in settings.split_numbers()]

    def report(_: Settings, records: list[dict[str, Any]]) -> Report:
        return Report([Table("squares", "Squares.", records)], [Claim("squares", "all", str(len(records)), True)])

    experiment = Experiment("waiting", "Squares", tasks, report, needs_data=False)
    run(experiment, Settings(splits=N_TASKS), Path(folder), jobs=2)
