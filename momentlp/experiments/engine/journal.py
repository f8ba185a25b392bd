"""Results on disk: one line for each finished task, so that a run can be stopped at any moment and continued."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Self

from momentlp.errors import DataError
from momentlp.runtime.atomic_files import write_atomically

__all__ = ["Journal", "Record"]

Record = dict[str, Any]  # of values that JSON has
RESULTS, SETTINGS = "results.jsonl", "settings.json"


class Journal:
    """The finished tasks of an experiment, in a folder of its own.

    ``settings.json`` holds what the results depend on. A journal is never continued with other settings. ``results.jsonl``
    has one line for each finished task. If the end of a run cut a line off, that line and all after it are dropped.

    Parameters
    ----------
    folder : path
        Created if it does not exist.
    identity : mapping
        What the results depend on, as values that JSON has.

    Raises
    ------
    DataError
        If the folder holds results of other settings, or another run is writing to it.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with Journal(folder, {"seed": 0}) as journal:
    ...     journal.append("split 3", [{"recall": 0.5}])
    >>> with Journal(folder, {"seed": 0}) as journal:
    ...     journal.done
    {'split 3': [{'recall': 0.5}]}
    >>> Journal(folder, {"seed": 1}).__enter__()  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    momentlp.errors.DataError: ... holds results of other settings (seed 0, now 1): ...
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any]) -> None:
        self.folder, self.identity = folder, dict(identity)
        self.done: dict[str, list[Record]] = {}

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._stream: IO[bytes] = (self.folder / RESULTS).open("a+b")
        try:
            _lock(self._stream, self.folder)
            self._check_settings()
            self._read_results()
        except BaseException:
            self._stream.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def append(self, key: str, records: list[Record]) -> None:
        """Write the records of a task. When this returns, they are on disk."""
        line = json.dumps([key, records], separators=(",", ":"))
        self._stream.write(line.encode() + b"\n")
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self.done[key] = json.loads(line)[1]

    def _check_settings(self) -> None:
        path = self.folder / SETTINGS
        ours = json.loads(json.dumps(self.identity))
        try:
            theirs = json.loads(path.read_text())
        except FileNotFoundError:
            if self._stream.tell():
                raise DataError(
                    f"{str(self.folder)!r} holds results, but no {SETTINGS}: choose another "
                    "folder with --out, or remove this one."
                ) from None
            text = json.dumps(ours, indent=2) + "\n"
            write_atomically(path, lambda stream: stream.write(text.encode()))
            return
        except ValueError:
            raise DataError(f"{path} cannot be read: choose another folder with --out, or remove this one.") from None
        if theirs != ours:
            raise DataError(
                f"{str(self.folder)!r} holds results of other settings ({_describe_difference(theirs, ours)}): choose "
                "another folder with --out, or remove this one."
            )

    def _read_results(self) -> None:
        self._stream.seek(0)
        complete = 0  # bytes
        for line in self._stream.read().splitlines(keepends=True):
            try:
                if not line.endswith(b"\n"):
                    break
                key, records = json.loads(line)
                self.done[str(key)] = list(records)
            except (ValueError, TypeError):
                break
            complete += len(line)
        self._stream.truncate(complete)
        self._stream.seek(0, os.SEEK_END)


def _describe_difference(theirs: Any, ours: Mapping[str, Any]) -> str:
    if not isinstance(theirs, dict):
        return "not a table of settings"
    names = [name for name in {**theirs, **ours} if theirs.get(name) != ours.get(name)]
    return ", ".join(f"{name} {theirs.get(name)}, now {ours.get(name)}" for name in names)


def _lock(stream: IO[bytes], folder: Path) -> None:
    """Lock the journal, so that no other run writes to it, on systems that have such locks."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise DataError(
            f"another run is writing to {str(folder)!r}: wait for it, or choose another folder with --out."
        ) from None
