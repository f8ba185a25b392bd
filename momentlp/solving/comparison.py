"""One problem solved by several backends, side by side."""

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

from momentlp.backend.interface import Backend, Capability, Options
from momentlp.backend.registry import BackendInfo, find_backend
from momentlp.backend.registry import backends as registered_backends
from momentlp.errors import BackendUnavailableError, DataError, MomentLPError, OptionError
from momentlp.problem.problem import Problem
from momentlp.problem.sentinels import sentinels_reported, warn_about_sentinels
from momentlp.runtime.argument_checks import check_function, check_integer
from momentlp.runtime.atomic_files import write_atomically
from momentlp.runtime.html_table import html_table
from momentlp.runtime.peak_memory import peak_memory
from momentlp.runtime.text_table import align_columns
from momentlp.solution.solution import Solution
from momentlp.solving.solve_problem import solve
from momentlp.status import Status

__all__ = ["Comparison", "compare"]

CERTIFIED = (Status.OPTIMAL.value, Status.EMPTY.value, Status.INFEASIBLE.value)  # statuses that are proved
WITH_OBJECTIVE = (Status.OPTIMAL.value, Status.EMPTY.value)  # proved statuses whose objective is the optimum

# Keys of a record, in the order of the columns of a CSV file.
FIELDS = (
    "backend", "engine", "version", "status", "objective", "bound", "gap", "primal_residual", "dual_residual", "iterations",
    "seconds", "memory", "repairs", "same_engine_as", "message",
)  # fmt: skip

# Headings of the printed table, and how to format their cells.
COLUMNS: dict[str, Callable[[dict[str, Any]], str]] = {
    "backend": lambda row: str(row["backend"]),
    "engine": lambda row: str(row["engine"] or "-"),
    "status": lambda row: str(row["status"]),
    "objective": lambda row: _format_number(None if row["status"] == "infeasible" else row["objective"], ".9g"),
    "gap": lambda row: _format_number(row["gap"], ".0e"),
    "primal": lambda row: _format_number(row["primal_residual"], ".0e"),
    "dual": lambda row: _format_number(row["dual_residual"], ".0e"),
    "seconds": lambda row: _format_number(row["seconds"], ".3f"),
    "memory": lambda row: "-" if row["memory"] is None else f"{row['memory'] / 2**20:.0f} MiB",
}


@dataclass(frozen=True, repr=False)
class Comparison(Sequence[dict[str, Any]]):
    """A sequence of records, one dictionary per backend, shown as a table. :func:`compare` makes one.

    Attributes
    ----------
    records : tuple of dict
        The keys are those of :meth:`Solution.summary`, without ``fractional`` and ``active_moments``, and these:

        - ``status`` is that of the solution, ``"unavailable"`` if the backend cannot be used here, or ``"error"`` if it
          raised an error; ``message`` then says why.
        - ``seconds`` is the median time of the whole call over the repeats, scaling and certificate included.
        - ``memory`` is the growth of the peak memory of the process in bytes; None if the system does not report it.
        - ``same_engine_as`` lists the other backends with the same engine. If they agree, this is no independent
          confirmation.
    solutions : dict of str to Solution
        The solutions by backend, for the backends that returned one.

    Examples
    --------
    >>> import momentlp as mlp
    >>> comparison = mlp.compare(mlp.Spec().compile([[0.0], [1.0], [2.0]], mean=[0.5]), ["highs", "glpk"])
    >>> comparison[0]["backend"], comparison.solutions["highs"].objective
    ('highs', 2.0)
    >>> comparison.independent_engines
    ('GLPK', 'HiGHS')
    >>> comparison.spread <= 1e-9
    True
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
        """The largest relative difference between proved objectives.

        Infinite if one backend proves that the problem is infeasible and another finds a set; NaN if nothing was proved.
        """
        statuses = {row["status"] for row in self.records if row["status"] in CERTIFIED}
        if Status.INFEASIBLE.value in statuses:
            return 0.0 if len(statuses) == 1 else float("inf")
        values = [row["objective"] for row in self.records if row["status"] in WITH_OBJECTIVE]
        return (max(values) - min(values)) / max(1.0, *map(abs, values)) if values else float("nan")

    @property
    def independent_engines(self) -> tuple[str, ...]:
        """The names of the engines that gave a proved solution, each once, sorted."""
        return tuple(sorted({row["engine"] for row in self.records if row["status"] in CERTIFIED}))

    def verdict(self) -> str:
        """Return a sentence that says how many backends proved their solution, and whether they agree."""
        certified = [row for row in self.records if row["status"] in CERTIFIED]
        if not certified:
            return "No backend gave an answer that could be certified."
        engines = self.independent_engines
        several = f"{len(engines)} independent engines ({', '.join(engines)})"
        proved_by = several if len(engines) > 1 else f"one engine, {engines[0]}"
        agreement = f"objectives agree to {self.spread:.0e}" if np.isfinite(self.spread) else "they contradict each other"
        return f"{len(certified)} of {len(self)} certified, by {proved_by}; {agreement}."

    def table(self) -> list[list[str]]:
        """Return the rows of the table as lists of text, the headings first."""
        return [list(COLUMNS), *([format_cell(row) for format_cell in COLUMNS.values()] for row in self.records)]

    def __repr__(self) -> str:
        return f"{align_columns(self.table())}\n{self.verdict()}"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        heading, *body = self.table()
        return html_table(self.verdict(), body, heading)

    def to_csv(self, path: str | Path | None = None) -> str:
        """Return the records as CSV text, and write it to a file if a path is given.

        Parameters
        ----------
        path : str or Path, optional

        Returns
        -------
        str
            A line of headings and a line per backend.
        """
        stream = io.StringIO()
        writer = csv.DictWriter(stream, FIELDS)
        writer.writeheader()
        writer.writerows({**row, "same_engine_as": " ".join(row["same_engine_as"])} for row in self.records)
        return _write_if_path(stream.getvalue(), path)

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the records as JSON text, and write it to a file if a path is given.

        Parameters
        ----------
        path : str or Path, optional

        Returns
        -------
        str
            A list of objects. Numbers that are not finite become null.
        """
        return _write_if_path(json.dumps([_replace_non_finite(row) for row in self.records], indent=2), path)


def compare(
    problem: Problem,
    backends: str | Backend | Sequence[str | Backend] | None = None,
    *,
    repeat: int = 1,
    on_start: Callable[[str], Any] | None = None,
    **options: Any,
) -> Comparison:
    """Solve one problem with several backends and compare their solutions.

    Parameters
    ----------
    problem : Problem
    backends : str, Backend, or sequence of them, optional
        By default, all registered backends that solve such problems themselves: linear programs, or problems whose
        memberships must be whole. A backend that cannot be used here, or that raises an error, gets a row that
        says so.
    repeat : int
        How often each backend runs. The backends take turns, and the median time is reported.
    on_start : callable, optional
        Called with the name of each backend before it runs.
    **options
        Further arguments of :func:`momentlp.solve`.

    Returns
    -------
    Comparison
        One record per backend, in the order given.

    Raises
    ------
    DataError
        If ``problem`` is not a problem.
    OptionError
        If another argument is not valid.
    BackendNotFoundError
        If a name is not registered.

    Examples
    --------
    >>> import momentlp as mlp
    >>> rows = mlp.compare(mlp.Spec().compile([[0.0], [1.0], [2.0]], mean=[0.5]), ["highs", "scipy"])
    >>> [(row["backend"], row["status"], row["objective"], row["same_engine_as"]) for row in rows]
    [('highs', 'optimal', 2.0, ['scipy']), ('scipy', 'optimal', 2.0, ['highs'])]
    """
    chosen = _check_arguments(problem, backends, repeat, on_start, options)
    runs: list[list[dict[str, Any]]] = [[] for _ in chosen]
    solutions: dict[str, Solution] = {}
    warn_about_sentinels(problem)
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
        times = [record["seconds"] for record in rounds if record["seconds"] is not None]  # None: it gave no solution
        records.append({**rounds[-1], "seconds": statistics.median(times) if times else None})
    for row in records:
        row["same_engine_as"] = [
            other["backend"] for other in records if other is not row and row["engine"] and other["engine"] == row["engine"]
        ]
    return Comparison(tuple(records), solutions)


def _check_arguments(
    problem: Any,
    backends: str | Backend | Sequence[str | Backend] | None,
    repeat: int,
    on_start: Any,
    options: dict[str, Any],
) -> list[str | Backend]:
    """Check the arguments of ``compare`` and return the backends. A wrong argument raises here, not once per backend."""
    if not isinstance(problem, Problem):
        raise DataError(f"problem must be a Problem, not {type(problem).__name__}: compile one with Spec.compile.")
    check_integer("repeat", repeat, minimum=1)
    if on_start is not None:
        check_function("on_start", on_start, "the name of a backend")
    # Options checks its own fields. A log may also be a text stream, which only solve turns into a function.
    Options(**{name: value for name, value in options.items() if name in Options.__dataclass_fields__ and name != "log"})
    if backends is None:
        return [info.name for info in registered_backends() if not info.available or _is_for(problem, info)]
    chosen = [backends] if isinstance(backends, (str, Backend)) else list(backends)
    if not chosen:
        raise OptionError("backends is empty: name at least one backend, or leave out backends to compare all.")
    for backend in chosen:
        if isinstance(backend, str):
            find_backend(backend)
    return chosen


def _is_for(problem: Problem, info: BackendInfo) -> bool:
    """Return whether a backend solves this kind of problem itself."""
    return Capability.INTEGER.value in info.capabilities if problem.is_whole else info.is_linear


def _measure(
    problem: Problem, backend: str | Backend, label: str, options: dict[str, Any]
) -> tuple[dict[str, Any], Solution | None]:
    """Run one backend once, and return its record and, if it gave one, its solution."""
    record: dict[str, Any] = dict.fromkeys(FIELDS)
    record |= {"backend": label, "same_engine_as": []}
    try:
        with peak_memory() as peak:
            start = time.perf_counter()
            with sentinels_reported():
                solution = solve(problem, backend, **options)
            seconds = time.perf_counter() - start
    except BackendUnavailableError as error:
        return record | {"status": "unavailable", "message": str(error)}, None
    except MomentLPError as error:
        return record | {"status": "error", "message": f"{type(error).__name__}: {error}"}, None
    summary = {field: value for field, value in solution.summary().items() if field in FIELDS}
    return record | summary | {"backend": label, "seconds": seconds, "memory": peak.bytes}, solution


def _format_number(value: float | None, format_spec: str) -> str:
    return "-" if value is None else format(value, format_spec)


def _replace_non_finite(row: dict[str, Any]) -> dict[str, Any]:
    return {key: None if isinstance(value, float) and not np.isfinite(value) else value for key, value in row.items()}


def _write_if_path(text: str, path: str | Path | None) -> str:
    if path is not None:
        write_atomically(Path(path), lambda stream: stream.write(text.encode()))
    return text
