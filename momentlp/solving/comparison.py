"""The same problem through several backends, side by side."""

from __future__ import annotations

import csv
import io
import json
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from momentlp.backend.interface import Backend, Options
from momentlp.backend.registry import backends as registered
from momentlp.backend.registry import find_backend
from momentlp.errors import BackendUnavailableError, DataError, MomentLPError, OptionError
from momentlp.problem.problem import Problem
from momentlp.runtime.atomic_files import write_atomically
from momentlp.runtime.html_table import html_table
from momentlp.runtime.peak_memory import peak_memory
from momentlp.runtime.text_table import align_columns
from momentlp.solution.solution import Solution
from momentlp.solving.solve_problem import solve
from momentlp.status import Status

__all__ = ["Comparison", "compare"]

CERTIFIED = (Status.OPTIMAL.value, Status.EMPTY.value, Status.INFEASIBLE.value)  # each of them is proved
FOUND = (Status.OPTIMAL.value, Status.EMPTY.value)

FIELDS = (
    "backend", "engine", "version", "status", "objective", "bound", "gap", "primal_residual", "dual_residual", "iterations",
    "seconds", "memory", "repairs", "same_engine_as", "message",
)  # fmt: skip

COLUMNS: dict[str, Callable[[dict[str, Any]], str]] = {
    "backend": lambda row: str(row["backend"]),
    "engine": lambda row: str(row["engine"] or "-"),
    "status": lambda row: str(row["status"]),
    "objective": lambda row: _number(None if row["status"] == "infeasible" else row["objective"], ".9g"),
    "gap": lambda row: _number(row["gap"], ".0e"),
    "primal": lambda row: _number(row["primal_residual"], ".0e"),
    "dual": lambda row: _number(row["dual_residual"], ".0e"),
    "seconds": lambda row: _number(row["seconds"], ".3f"),
    "memory": lambda row: "-" if row["memory"] is None else f"{row['memory'] / 2**20:.0f} MiB",
}


@dataclass(frozen=True, repr=False)
class Comparison(Sequence[dict[str, Any]]):
    """One record per backend. It is a sequence of dictionaries, shown as a table.

    Attributes
    ----------
    records : tuple of dict
        ``seconds`` is the median over the repeats of the whole call, scaling and certificate included; ``memory`` the peak
        growth of the process in bytes (None where the system cannot tell); ``same_engine_as`` the other rows that share an
        engine, whose agreement is no independent confirmation.
    solutions : dict of str to Solution
        The answers themselves, for the backends that gave one.
    """

    records: tuple[dict[str, Any], ...]
    solutions: dict[str, Solution]

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, index: Any) -> Any:
        return self.records[index]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.records)

    @property
    def spread(self) -> float:
        """Largest relative difference between certified objectives; infinite if one has a set and another proves none."""
        statuses = {row["status"] for row in self.records if row["status"] in CERTIFIED}
        if Status.INFEASIBLE.value in statuses:
            return 0.0 if len(statuses) == 1 else float("inf")
        values = [row["objective"] for row in self.records if row["status"] in FOUND]
        return (max(values) - min(values)) / max(1.0, *map(abs, values)) if values else float("nan")

    @property
    def independent_engines(self) -> tuple[str, ...]:
        """The different engines among the certified rows."""
        return tuple(sorted({row["engine"] for row in self.records if row["status"] in CERTIFIED}))

    def verdict(self) -> str:
        """Say in a sentence what the rows confirm."""
        certified = [row for row in self.records if row["status"] in CERTIFIED]
        if not certified:
            return "No backend gave an answer that could be certified."
        engines = self.independent_engines
        independent = f"{len(engines)} independent engines ({', '.join(engines)})"
        which = independent if len(engines) > 1 else f"one engine, {engines[0]}"
        agreement = f"objectives agree to {self.spread:.0e}" if np.isfinite(self.spread) else "they contradict each other"
        return f"{len(certified)} of {len(self)} certified, by {which}; {agreement}."

    def table(self) -> list[list[str]]:
        """Return the rows of the table, headings first, as text."""
        return [list(COLUMNS), *([show(row) for show in COLUMNS.values()] for row in self.records)]

    def __repr__(self) -> str:
        return f"{align_columns(self.table())}\n{self.verdict()}"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        heading, *body = self.table()
        return html_table(self.verdict(), body, heading)

    def to_csv(self, path: str | Path | None = None) -> str:
        """Return the records as CSV, and write them to a file if one is named."""
        stream = io.StringIO()
        writer = csv.DictWriter(stream, FIELDS)
        writer.writeheader()
        writer.writerows({**row, "same_engine_as": " ".join(row["same_engine_as"])} for row in self.records)
        return _written(stream.getvalue(), path)

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the records as JSON, and write them to a file if one is named."""
        return _written(json.dumps([_plain(row) for row in self.records], indent=2), path)


def compare(
    problem: Problem,
    backends: str | Backend | Sequence[str | Backend] | None = None,
    *,
    repeat: int = 1,
    on_start: Callable[[str], Any] | None = None,
    **options: Any,
) -> Comparison:
    """Solve one problem with several backends and set their answers side by side.

    Parameters
    ----------
    problem : Problem
    backends : name, Backend, or sequence of them, optional
        Default: every registered one. One that cannot be used here, or that raises, gets a row that says so.
    repeat : int
        How often each is run; rounds are interleaved, and the median time is reported.
    on_start : callable, optional
        Called with the name of each backend before it runs.
    **options
        Passed to :func:`momentlp.solve`.

    Examples
    --------
    >>> import momentlp as mlp
    >>> rows = mlp.compare(mlp.Spec().compile([[0.0], [1.0], [2.0]], mean=[0.5]), ["highs", "scipy"])
    >>> [(row["backend"], row["status"], row["objective"], row["same_engine_as"]) for row in rows]
    [('highs', 'optimal', 2.0, ['scipy']), ('scipy', 'optimal', 2.0, ['highs'])]
    """
    chosen = _checked(problem, backends, repeat, options)
    runs: list[list[dict[str, Any]]] = [[] for _ in chosen]
    solutions: dict[str, Solution] = {}
    for _ in range(repeat):
        for position, backend in enumerate(chosen):
            label = backend if isinstance(backend, str) else repr(backend)
            if on_start is not None:
                on_start(label)
            record, solution = _measure(problem, backend, label, options)
            runs[position].append(record)
            if solution is not None:
                solutions[label] = solution
    records = []
    for rounds in runs:
        times = [record["seconds"] for record in rounds if record["seconds"] is not None]
        records.append({**rounds[-1], "seconds": statistics.median(times) if times else None})
    for row in records:
        row["same_engine_as"] = [
            other["backend"] for other in records if other is not row and row["engine"] and other["engine"] == row["engine"]
        ]
    return Comparison(tuple(records), solutions)


def _checked(
    problem: Any, backends: str | Backend | Sequence[str | Backend] | None, repeat: int, options: dict[str, Any]
) -> list[str | Backend]:
    """Return the backends to compare, or say what is wrong with the call."""
    if not isinstance(problem, Problem):
        raise DataError(f"problem must be a Problem, not {type(problem).__name__}: compile one with Spec.compile.")
    if not isinstance(repeat, int) or repeat < 1:
        raise OptionError(f"repeat must be a whole number of at least 1, not {repeat!r}.")
    if backends is None:
        return [info.name for info in registered()]
    chosen = [backends] if isinstance(backends, (str, Backend)) else list(backends)
    if not chosen:
        raise OptionError("backends is empty: name at least one, or leave it out for all.")
    for backend in chosen:
        if isinstance(backend, str):
            find_backend(backend)
    Options(**{name: value for name, value in options.items() if name in Options.__dataclass_fields__ and name != "log"})
    return chosen


def _measure(
    problem: Problem, backend: str | Backend, label: str, options: dict[str, Any]
) -> tuple[dict[str, Any], Solution | None]:
    record: dict[str, Any] = dict.fromkeys(FIELDS)
    record |= {"backend": label, "same_engine_as": []}
    try:
        with peak_memory() as peak:
            started = time.perf_counter()
            solution = solve(problem, backend, **options)
            seconds = time.perf_counter() - started
    except BackendUnavailableError as error:
        return record | {"status": "unavailable", "message": str(error)}, None
    except MomentLPError as error:
        return record | {"status": "error", "message": f"{type(error).__name__}: {error}"}, None
    summary = {field: value for field, value in solution.summary().items() if field in FIELDS}
    return record | summary | {"backend": label, "seconds": seconds, "memory": peak.bytes}, solution


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {key: None if isinstance(value, float) and not np.isfinite(value) else value for key, value in row.items()}


def _written(text: str, path: str | Path | None) -> str:
    if path is not None:
        write_atomically(Path(path), lambda stream: stream.write(text.encode()))
    return text
