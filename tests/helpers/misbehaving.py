"""Backends that break the contract of a backend. They are in a module so that a worker process can import them."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import momentlp as mlp
from momentlp_highs import Highs


class Misbehaving(mlp.Backend):
    """A backend that first calls the function of this module that its option ``how`` names, and then solves with HiGHS."""

    name: ClassVar[str] = "misbehaving"
    engine: ClassVar[str] = "HiGHS"
    package: ClassVar[str] = "highspy"

    @classmethod
    def version(cls) -> str:
        return Highs.version()

    def run(self, problem: mlp.Problem, options: mlp.Options) -> mlp.Answer:
        native = dict(options.native)
        answer = globals()[native.pop("how")](**native)
        return Highs().run(problem, mlp.Options()) if answer is None else answer


class KeepsTime(Misbehaving):
    """A backend that declares the time limit as a capability. Its message is the time limit that it was given."""

    capabilities: ClassVar[frozenset[mlp.Capability]] = frozenset({mlp.Capability.TIME_LIMIT})

    def run(self, problem: mlp.Problem, options: mlp.Options) -> mlp.Answer:
        return mlp.Answer(mlp.Outcome.LIMIT, None, None, f"time_limit={options.time_limit}")


class Reports(Misbehaving):
    """A backend that calls ``log`` and ``progress`` a fixed number of times, however fast the machine is."""

    capabilities: ClassVar[frozenset[mlp.Capability]] = frozenset({mlp.Capability.LOG, mlp.Capability.PROGRESS})

    def run(self, problem: mlp.Problem, options: mlp.Options) -> mlp.Answer:
        for k in range(3):
            if options.log is not None:
                options.log(f"line {k}\n")
            if options.progress is not None:
                options.progress(mlp.Progress(k, float(k)))
        return Highs().run(problem, mlp.Options())


class ReportsAndHangs(Reports):
    """A backend that starts a process, writes the ids of both to a file, calls ``log``, and never returns."""

    def run(self, problem: mlp.Problem, options: mlp.Options) -> mlp.Answer:
        _child = write_pids(options.native["path"])  # kept: Python warns about a child process without a reference
        if options.log is not None:
            options.log("hanging")
        hold_the_lock()
        raise AssertionError("unreachable")


class UnpicklableError(Exception):
    """An error that cannot be pickled, also where a package has taught pickle other ways to send errors: it holds a lock."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(f"{one} and {two}")
        self.lock = threading.Lock()


class OwnWarning(UserWarning):
    """A warning that the parent process can import."""


def do_nothing() -> None:
    return None


def abort() -> None:
    sys.stderr.write("assertion failed: basis != NULL\n")
    sys.stderr.flush()
    os.abort()


def segfault() -> None:
    ctypes.string_at(0)


def exit_at_once() -> None:
    os._exit(0)


def exit_with_code_3() -> None:
    sys.exit(3)


def sleep() -> None:
    time.sleep(3600)


def spin() -> None:
    while True:
        pass


def hold_the_lock() -> None:
    ctypes.PyDLL(None).sleep(3600)


def use_memory() -> Any:
    """Stop at 400 megabytes: if the limit does not work, the test fails and the machine does not."""
    blocks = [np.empty(10**7, dtype=np.uint8) for _ in range(40)]
    return mlp.Answer(mlp.Outcome.FAILED, None, None, f"used {sum(block.nbytes for block in blocks)} bytes")


def return_text() -> Any:
    return "optimal, I promise"


def return_a_function() -> Any:
    return mlp.Answer(mlp.Outcome.OPTIMAL, None, None, lambda: "optimal")  # type: ignore[arg-type]


def return_a_short_membership() -> Any:
    return mlp.Answer(mlp.Outcome.OPTIMAL, np.ones(3), None, "short")


def fail() -> None:
    raise KeyError("basis")


def fail_with_unpicklable_error() -> None:
    raise UnpicklableError("this", "that")


def refuse() -> None:
    raise mlp.OptionError("how must be better than this.")


def print_in_every_way() -> None:
    os.write(1, b"\x00\xff raw bytes\n" * 1000)
    print("said with print")  # noqa: T201  on purpose
    ctypes.CDLL(None).puts(b"said with puts")
    sys.stdin.read()


def warn() -> None:
    warnings.warn("the basis is rough", OwnWarning, stacklevel=1)


def write_pids_and_hang(path: str) -> None:
    """Start a process, write the ids of this process and of that one to a file, and never return."""
    _child = write_pids(path)  # kept: Python warns about a child process without a reference
    hold_the_lock()


def write_pids(path: str) -> subprocess.Popen[bytes]:
    child = subprocess.Popen(["sleep", "600"])
    target = Path(path)
    target.with_suffix(".part").write_text(f"{os.getpid()} {child.pid}")
    target.with_suffix(".part").rename(target)  # in one step: a reader never sees half of it
    return child
