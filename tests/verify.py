"""Run the long checks: ``make verify``.

These are each property test with ten thousand examples or more, the tests of exact arithmetic, the corpus of hard problems,
hostile random problems that are judged in exact arithmetic, and the fuzzers for a limited time. As many run at once as there
are cores. A line is printed when a check ends, and a table at the end. The exit status is 1 if a check failed.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from momentlp.runtime.text_table import align_columns

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
PROPERTIES = ("tests/properties", "tests/fuzz")
EXACT_TESTS = ("tests/unit/proof",)
# Each finds in the output of a check how many cases it tried.
EXAMPLES = re.compile(r"(\d+) passing\b")
FUZZED = re.compile(r"(\d[\d,]*) (?:executions|runs)")
PROBLEMS = re.compile(r"^(\d+) problems of", re.MULTILINE)
HOSTILE = re.compile(r"^(\d+) problems, ", re.MULTILINE)
PASSED = re.compile(r"(\d+) passed")


@dataclass(frozen=True)
class Check:
    """A title, a command, the pattern that finds in its output how many cases it tried, and the folder to run it in."""

    title: str
    command: tuple[str, ...]
    cases: re.Pattern[str]
    folder: Path = ROOT


def main() -> int:
    """Run all checks and print the table."""
    parser = argparse.ArgumentParser(description="Run the long checks.")
    parser.add_argument("--examples", type=int, default=10_000, help="of each property")
    parser.add_argument("--fuzz-seconds", type=float, default=30.0, help="for each fuzz target")
    parser.add_argument("--hostile", type=int, default=20_000, help="problems of the adversary, about 25 ms each")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    started = time.perf_counter()
    environment = {**os.environ, "MOMENTLP_EXAMPLES": str(arguments.examples)}
    runner = Runner(environment)
    try:
        with ThreadPoolExecutor(arguments.jobs) as pool:
            rows = list(pool.map(runner.run, checks(arguments.fuzz_seconds, arguments.hostile)))
    except KeyboardInterrupt:
        runner.stop()
        raise
    failed = sum(row[2] != "ok" for row in rows)
    print("\n" + align_columns([["check", "cases", "result", "seconds"], *rows]))
    print(f"\n{len(rows)} checks, {failed} failed, {(time.perf_counter() - started) / 60:.0f} minutes")
    return int(failed > 0)


def checks(fuzz_seconds: float, n_hostile: int) -> list[Check]:
    """Return all checks, the longest first."""
    python = sys.executable
    found = subprocess.run(
        [python, "-m", "pytest", "--collect-only", "-q", "-m", "hypothesis", *PROPERTIES],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    tests = [line for line in found.stdout.splitlines() if "::" in line]
    profile = ("--hypothesis-profile=verify", "--hypothesis-show-statistics", "-p", "no:cacheprovider", "-q")
    corpus = Check("corpus of hard problems, every backend", (python, "-m", "benchmarks.corpus.run"), PROBLEMS)
    hostile = Check(
        "hostile problems judged in exact arithmetic, every backend",
        (python, "-m", "tests.adversary.run", "--problems", str(n_hostile)),
        HOSTILE,
    )
    exact = Check(
        "tests of exact arithmetic, with 1,000 random problems",
        (python, "-m", "pytest", "-q", *EXACT_TESTS),
        PASSED,
    )
    fuzz = Check("fuzzing of all readers", (python, "-m", "fuzz.run", "--seconds", str(fuzz_seconds)), FUZZED, TESTS)
    properties = [Check(_title(test), (python, "-m", "pytest", *profile, test), EXAMPLES) for test in tests]
    return [corpus, hostile, fuzz, exact, *properties]


def _title(test: str) -> str:
    return test.rsplit("::", maxsplit=1)[-1].removeprefix("test_").replace("_", " ")


class Runner:
    """Runs checks, and can stop them all."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment
        self.running: set[subprocess.Popen[str]] = set()
        self.lock = threading.Lock()

    def run(self, check: Check) -> list[str]:
        """Run one check and return its row of the table; print its output if it failed."""
        started = time.perf_counter()
        process = subprocess.Popen(
            check.command, cwd=check.folder, env=self.environment, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        with self.lock:
            self.running.add(process)
        output, _ = process.communicate()
        with self.lock:
            self.running.discard(process)
        cases = sum(int(match[1].replace(",", "")) for match in check.cases.finditer(output))
        result = "ok" if process.returncode == 0 and cases else "FAILED"
        row = [check.title, f"{cases:,}", result, f"{time.perf_counter() - started:.0f}"]
        print(f"{result:7s} {row[1]:>9s}  {check.title}", flush=True)
        if result != "ok":
            print(output, flush=True)
        return row

    def stop(self) -> None:
        """Kill the checks that still run, with all processes that they started."""
        with self.lock:
            for process in self.running:
                os.killpg(process.pid, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
