"""Backends that do what no backend should. They live in a module so that a worker process can import them."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import momentlp as mlp
from momentlp_highs import Highs


class Misbehaving(mlp.Backend):
    """A backend that does what its option ``how`` says, and then, if it still can, solves with HiGHS."""

    name: ClassVar[str] = "misbehaving"
    engine: ClassVar[str] = "HiGHS"
    package: ClassVar[str] = "highspy"

    @classmethod
    def version(cls) -> str:
        return Highs.version()

    def run(self, problem: mlp.Problem, options: mlp.Options) -> mlp.Answer:
        native = dict(options.native)
        done = globals()[native.pop("how")](**native)
        return Highs().run(problem, mlp.Options()) if done is None else done


class Punctual(Misbehaving):
    """One that says it keeps time limits; what it says they are is its message."""

    capabilities: ClassVar[frozenset[mlp.Capability]] = frozenset({mlp.Capability.TIME_LIMIT})

    def run(self, problem: mlp.Problem, options: mlp.Options) -> mlp.Answer:
        return mlp.Answer(mlp.Outcome.LIMIT, None, None, f"told {options.time_limit}")


class StubbornError(Exception):
    """An error that cannot be made from its text."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(f"{one} and {two}")


class OwnWarning(UserWarning):
    """A warning that the parent knows too."""


def nothing() -> None:
    return None


def abort() -> None:
    sys.stderr.write("assertion failed: basis != NULL\n")
    sys.stderr.flush()
    os.abort()


def segfault() -> None:
    ctypes.string_at(0)


def leave() -> None:
    os._exit(0)


def exit_politely() -> None:
    sys.exit(3)


def sleep() -> None:
    time.sleep(3600)


def spin() -> None:
    while True:
        pass


def hold_the_lock() -> None:
    ctypes.PyDLL(None).sleep(3600)


def eat_memory() -> Any:
    """Stop after 400 megabytes, so that a limit that does not work fails the test and not the machine."""
    eaten = [np.empty(10**7, dtype=np.uint8) for _ in range(40)]
    return mlp.Answer(mlp.Outcome.FAILED, None, None, f"ate {sum(block.nbytes for block in eaten)} bytes")


def give_text() -> Any:
    return "optimal, I promise"


def give_a_function() -> Any:
    return mlp.Answer(mlp.Outcome.OPTIMAL, None, None, lambda: "optimal")  # type: ignore[arg-type]


def give_a_short_membership() -> Any:
    return mlp.Answer(mlp.Outcome.OPTIMAL, np.ones(3), None, "short")


def fail() -> None:
    raise KeyError("basis")


def fail_stubbornly() -> None:
    raise StubbornError("this", "that")


def refuse() -> None:
    raise mlp.OptionError("how must be better than this.")


def chatter() -> None:
    os.write(1, b"\x00\xff raw bytes\n" * 1000)
    print("said with print")  # noqa: T201  on purpose
    ctypes.CDLL(None).puts(b"said with puts")
    sys.stdin.read()


def warn() -> None:
    warnings.warn("the basis is rough", OwnWarning, stacklevel=1)


def tell_pids_and_sleep(path: str) -> None:
    child = subprocess.Popen(["sleep", "600"])
    target = Path(path)
    target.with_suffix(".part").write_text(f"{os.getpid()} {child.pid}")
    target.with_suffix(".part").rename(target)
    hold_the_lock()
