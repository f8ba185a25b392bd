"""The results on disk: a CSV file to which each result is appended, so that a killed run can be continued.

Several runs may write to one file: each locks it while it writes.
"""

from __future__ import annotations

import csv
import fcntl
import io
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import IO

from benchmarks.classes.cases import Case

__all__ = ["Key", "Result", "Results"]

Key = tuple[Case, int, str]


@dataclass(frozen=True)
class Result:
    """The result of one method on one split of a case. What a method does not say is NaN."""

    dataset: str
    target: str
    n_known: int
    split: int
    method: str
    precision: float
    recall: float
    f1: float
    average_precision: float
    share: float
    true_share: float
    n_unlabelled: int
    prior: float
    low: float
    high: float
    calibration: float
    seconds: float

    @property
    def case(self) -> Case:
        """The case that was solved."""
        return Case(self.dataset, self.target, self.n_known)

    @property
    def key(self) -> Key:
        """Case, split and method, which identify the result."""
        return self.case, self.split, self.method


HEADS = [field.name for field in fields(Result)]
CONVERTERS = {"int": int, "float": float, "str": str}
TYPES = {field.name: CONVERTERS[str(field.type)] for field in fields(Result)}


class Results:
    """The file. Reading drops a last line that was cut off when a run was killed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        with self._open_locked() as stream:
            if not stream.read(1):
                stream.write(_format_line(HEADS))
            else:
                _drop_cut_format_line(stream)

    def read(self) -> list[Result]:
        """Return all results, the oldest first."""
        with self._open_locked() as stream:
            return _parse(stream)

    def append(self, result: Result) -> None:
        """Write one line."""
        with self._open_locked() as stream:
            stream.seek(0, io.SEEK_END)
            stream.write(_format_line(list(asdict(result).values())))

    def drop(self, unwanted: Callable[[Result], bool]) -> int:
        """Remove results, and return how many. The old file is kept as ``NAME.before.csv``."""
        with self._open_locked() as stream:
            results = _parse(stream)
            kept = [result for result in results if not unwanted(result)]
            if len(kept) < len(results):
                shutil.copyfile(self.path, self.path.with_suffix(".before.csv"))
                stream.seek(0)
                stream.truncate()
                stream.write(
                    "".join([_format_line(HEADS), *(_format_line(list(asdict(result).values())) for result in kept)])
                )
        return len(results) - len(kept)

    @contextmanager
    def _open_locked(self) -> Iterator[IO[str]]:
        self.path.touch()
        with self.path.open("r+", newline="") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            yield stream


def _parse(stream: IO[str]) -> list[Result]:
    return [Result(**{head: TYPES[head](row[head]) for head in HEADS}) for row in csv.DictReader(stream)]


def _format_line(values: list[object]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(values)
    return text.getvalue()


def _drop_cut_format_line(stream: IO[str]) -> None:
    stream.seek(0)
    text = stream.read()
    if not text.endswith("\n"):
        stream.seek(0)
        stream.truncate()
        stream.write(text[: text.rfind("\n") + 1] or _format_line(HEADS))
