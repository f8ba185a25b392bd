"""Fuzz the readers for a bounded time, each target in a process of its own.

    cd tests
    python -m fuzz.run --seconds 60                      every target, a minute each, by atheris
    python -m fuzz.run --seconds 60 --target spec_yaml   one of them
    python -m fuzz.run --seconds 60 --engine random      by random changes: needs no further package
    python -m fuzz.run --target spec_yaml --reproduce F  run one file, as a finding names it

The exit status is 0 if nothing was found, 1 if something was, 2 if atheris is not installed.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib.util
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from random import Random
from typing import Any, NoReturn

NAMES = ("spec_json", "spec_yaml", "problem_file", "problem_mps", "data_csv", "data_npy", "data_npz", "data_parquet")
TESTS = Path(__file__).resolve().parents[1]
MAX_FILE_BYTES = 1 << 16  # small files find as much as large ones, and sooner
MAX_FILE_SECONDS = 20  # that reading one file may take
MAX_MEMORY_MIB = 3072  # of the process
START_SECONDS = 120  # to start and to stop, on a busy machine
MAX_FINDINGS = 20  # after which a target stops


def main() -> int:
    """Run what the command line asks for and return the exit status."""
    options = _options()
    if options.reproduce:
        return _reproduce(options.target, options.reproduce)
    if options.worker:
        work = _work_atheris if options.engine == "atheris" else _work_randomly
        work(options.target, options.seconds, options.out)
    if options.engine == "atheris" and importlib.util.find_spec("atheris") is None:
        _say("atheris is not installed: run pip install atheris, or use --engine random.")
        return 2
    out = (options.out or Path(tempfile.mkdtemp(prefix="momentlp-fuzz-"))).resolve()
    out.mkdir(parents=True, exist_ok=True)
    found = [_fuzz(name, options.seconds, options.engine, out) for name in ([options.target] if options.target else NAMES)]
    _say(f"{sum(found)} finding(s)" + (f", saved in {out}" if sum(found) else ""))
    if options.out is None and not any(found):
        out.rmdir()
    return int(any(found))


def _options() -> Any:
    parser = argparse.ArgumentParser(description="Fuzz the readers of momentlp for a bounded time.")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long each target runs")
    parser.add_argument("--target", choices=NAMES, help="default: all, one after the other")
    parser.add_argument("--engine", choices=("atheris", "random"), default="atheris")
    parser.add_argument("--out", type=Path, help="folder for findings; default: a new temporary one")
    parser.add_argument("--reproduce", type=Path, metavar="FILE", help="run --target on one file and stop")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.reproduce and not options.target:
        parser.error("--reproduce needs --target")
    return options


def _reproduce(name: str, path: Path) -> int:
    from fuzz.targets import TARGETS

    taken = TARGETS[name].check(path.read_bytes())
    _say(f"{path} is {'taken' if taken else 'refused'}, as it should be.")
    return 0


def _fuzz(name: str, seconds: float, engine: str, out: Path) -> int:
    """Run one target in a process of its own, print a line about it, and return the number of findings."""
    before = set(out.iterdir())
    command = [sys.executable, "-m", "fuzz.run", "--worker", "--engine", engine, "--target", name]
    command += ["--seconds", str(seconds), "--out", str(out)]
    log = out / f"{name}.log"
    with log.open("wb") as stream, tempfile.TemporaryDirectory() as scratch:  # a killed process does not remove its files
        environment = {**os.environ, "TMPDIR": scratch}
        process = subprocess.Popen(
            command, stdout=stream, stderr=subprocess.STDOUT, start_new_session=True, env=environment, cwd=TESTS
        )
        try:
            status = process.wait(timeout=seconds + START_SECONDS)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            _end(process)
    text = log.read_text(errors="replace")
    current = out / f"{name}-current"
    if current.exists() and status != 0:  # the process died while it read this file
        current.rename(out / f"{name}-crash-{hashlib.sha256(current.read_bytes()).hexdigest()[:12]}")
    current.unlink(missing_ok=True)
    findings = sorted(path for path in set(out.iterdir()) - before if path != log)
    went_wrong = status != 0 and not findings
    _say(f"{name:13} {_format_counts(text)}, {len(findings) + went_wrong} finding(s)")
    for path in findings:
        _say(f"  python -m fuzz.run --target {name} --reproduce {path}")
    if went_wrong:
        _say(f"  it ended with status {status} and left no file; see {log}")
    elif not findings:
        log.unlink()
    return len(findings) + went_wrong


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and those it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _format_counts(log: str) -> str:
    runs = re.findall(r"(?:number_of_executed_units: |^#)(\d+)", log, re.MULTILINE)
    seen = re.findall(r"cov: (\d+) ft: \d+ corp: (\d+)", log)
    coverage = f", coverage {seen[-1][0]}, corpus {seen[-1][1]}" if seen else ""
    return f"{max(map(int, runs), default=0):9} executions{coverage}"


def _work_atheris(name: str, seconds: float, out: Path) -> NoReturn:
    import atheris

    with atheris.instrument_imports(include=["momentlp"]):
        from fuzz.targets import TARGETS
    target = TARGETS[name]

    def change(data: bytes, max_size: int, seed: int) -> bytes:
        random = Random(seed)
        return (target.mutate(data, random) if random.random() < 0.6 else atheris.Mutate(data, max_size))[:max_size]

    corpus = tempfile.mkdtemp()
    for number, seed in enumerate(target.seeds()):
        (Path(corpus) / str(number)).write_bytes(seed)
    flags = {
        "max_total_time": max(1, round(seconds)),
        "max_len": MAX_FILE_BYTES,
        "timeout": MAX_FILE_SECONDS,
        "rss_limit_mb": MAX_MEMORY_MIB,
        "artifact_prefix": f"{out}/{name}-",
        "print_final_stats": 1,
    }
    arguments = [sys.argv[0], *(f"-{flag}={value}" for flag, value in flags.items()), corpus]
    atheris.Setup(arguments, lambda data: target.check(data) and None, custom_mutator=change)
    atheris.Fuzz()
    sys.exit(0)


def _work_randomly(name: str, seconds: float, out: Path) -> NoReturn:
    """Change valid files at random until the time is up; every file is on disk before it is read."""
    from fuzz.targets import TARGETS

    target, random, current = TARGETS[name], Random(time.time_ns()), out / f"{name}-current"
    signal.signal(signal.SIGALRM, _raise_timeout)
    end, runs, seen = time.monotonic() + seconds, 0, set()
    while time.monotonic() < end and len(seen) < MAX_FINDINGS:
        data = random.choice(target.seeds())
        for _ in range(random.choice((1, 1, 2, 4))):
            data = target.mutate(data, random)[:MAX_FILE_BYTES]
        current.write_bytes(data)
        runs += 1
        try:
            signal.alarm(MAX_FILE_SECONDS)
            target.check(data)
            if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > MAX_MEMORY_MIB << 10:
                raise MemoryError(f"more than {MAX_MEMORY_MIB} MiB")
        except Exception as error:  # noqa: BLE001  every error is a finding
            signal.alarm(0)
            where = traceback.extract_tb(error.__traceback__)[-1]
            if (cause := (type(error), where.filename, where.lineno)) not in seen:
                seen.add(cause)
                traceback.print_exc()
                (out / f"{name}-{type(error).__name__}-{hashlib.sha256(data).hexdigest()[:12]}").write_bytes(data)
            if isinstance(error, MemoryError):
                break  # the peak never goes down again
        finally:
            signal.alarm(0)
    current.unlink()
    print(f"#{runs}")  # noqa: T201
    sys.exit(bool(seen))


def _raise_timeout(*_: object) -> NoReturn:
    raise TimeoutError(f"one file took more than {MAX_FILE_SECONDS} seconds")


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
