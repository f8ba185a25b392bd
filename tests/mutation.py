"""Check that the tests notice faults: ``make mutation``.

Each mutant is a copy of the project in which one piece of code is replaced by a faulty one. The tests run on every mutant
until one fails. A mutant that passes all tests survives: the tests have a hole, and the exit status is 1.

``python tests/mutation.py --check`` runs no tests. It only verifies that the table below is up to date: every piece of code
occurs exactly once where the table says. The ordinary tests run this check.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from momentlp.runtime.text_table import align_columns

ROOT = Path(__file__).resolve().parents[1]
NOT_COPIED = (".git", ".venv*", "__pycache__", ".*_cache", ".hypothesis", "momentlp-reproduce")
# These run first, because they notice most faults soon.
QUICK_TESTS = (
    "tests/unit/proof",
    "tests/unit/problem",
    "tests/unit/spec",
    "tests/unit/backend",
    "tests/unit/solving/test_solve.py",
    "tests/unit/points/test_chunked.py",
    "tests/unit/estimator/test_classifier_constraints.py",
    "tests/unit/solving/test_isolation.py",
    "tests/contract/test_backends.py",
)
CHECK_TEST = "tests/unit/test_mutation_table.py"  # it fails on every mutant, because it compares the code with the table
SURVIVED = "NO TEST"
LINES_SHOWN = 20  # of the output of the tests, where none noticed a mutant
TIMED_OUT = "the time limit"
MAX_SECONDS = 900  # for all tests on one mutant, three times what they need: a mutant that hangs counts as noticed
FAILURE = re.compile(r"^FAILED (\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Mutant:
    """A fault, the file (or the folder, if the code may move within it), the code there, and the code with the fault."""

    fault: str
    file: str
    old: str
    new: str

    def find(self, root: Path) -> list[Path]:
        """Return the file of every occurrence of the code."""
        path = root / self.file
        files = sorted(path.rglob("*.py")) if path.is_dir() else [path] if path.exists() else []
        return [file for file in files for _ in range(file.read_text().count(self.old))]

    def apply(self, root: Path) -> None:
        """Put the fault into a copy of the project."""
        (path,) = self.find(root)
        path.write_text(path.read_text().replace(self.old, self.new))


# fmt: off
MUTANTS = (
    # the proof
    Mutant("the bound counts the wrong points", "momentlp/proof", "caps * np.maximum(scores, 0.0)", "caps * np.maximum(-scores, 0.0)"),
    Mutant("the certificate is not checked", "momentlp/proof", "return bool(self.error <= tol)", "return True"),
    Mutant("violated moments are ignored", "momentlp/proof", "primal_residual=float(max(0.0, moments))", "primal_residual=0.0"),
    Mutant("upper and lower bounds are swapped", "momentlp/proof", "facing = np.where(y > 0, problem.upper, problem.lower)\n    wrong", "facing = np.where(y < 0, problem.upper, problem.lower)\n    wrong"),
    Mutant("NaN counts as a proof", "momentlp/proof", "if np.isfinite([*figures, self.objective, self.bound]).all() else", "if True else"),
    Mutant("polishing goes the wrong way", "momentlp/proof", "h[fractional] + step_h", "h[fractional] - step_h"),
    Mutant("infeasible without proof", "momentlp/proof", "return farkas_value(problem, y) < -tol * unit", "return True"),
    Mutant("the exact simplex takes the largest ratio", "momentlp/proof", "if abs(reduced[j] * entries[best]) < abs", "if abs(reduced[j] * entries[best]) > abs"),
    Mutant("exact integers are twice the floats", "momentlp/proof", "exponents - 53 + trailing", "exponents - 52 + trailing"),
    # the units in which a solver sees a problem
    Mutant("moments are not scaled", "momentlp/solving", "factors=1.0 / _power_of_two(sizes)", "factors=np.ones_like(sizes)"),
    Mutant("multipliers are not scaled back", "momentlp/solving", "answer.multipliers * self.factors * self.weight", "answer.multipliers * self.weight"),
    Mutant("noise is scaled up", "momentlp/solving", "np.where(problem.noise, problem.A.", "np.where(False & problem.noise, problem.A."),
    # the problem
    Mutant("real data counts as noise", "momentlp/problem", "same = (high == low) & (np.abs(low) <= allowed)", "same = (np.abs(low) <= 1e9 * allowed)"),
    Mutant("a tolerance on the mean has the wrong sign", "momentlp/problem", "np.concatenate([-width, width[loose]])", "np.concatenate([width, -width[loose]])"),
    Mutant("a tolerance on the sum is one-sided", "momentlp/problem", 'if side == "upper" else -bound', 'if side == "upper" else 0 * bound'),
    Mutant("the mean is not subtracted", "momentlp/problem", "result = np.asarray(chosen - self.origin, dtype=np.float64)", "result = np.asarray(chosen - 0 * self.origin, dtype=np.float64)"),
    Mutant("outliers are scaled the wrong way", "momentlp/problem", "self.col_lower / unit, self.col_upper / unit", "self.col_lower * unit, self.col_upper * unit"),
    Mutant("the centre of sparse features has the wrong sign", "momentlp/problem", "sp.csc_array(centre[:, None])", "sp.csc_array(-centre[:, None])"),
    Mutant("bounds are not scaled with the caps", "momentlp/problem", "lower=changed.lower / cap, upper=changed.upper / cap", "lower=changed.lower, upper=changed.upper"),
    Mutant("a chunk is read twice", "momentlp/problem", "result[span] = part", "result[span] = 2 * part"),
    # from an answer to a status
    Mutant("a small share counts as empty", "momentlp/solving", "if one_point else ZERO * lightest", "if one_point else ONE_POINT * lightest"),
    Mutant("moments are brought back one at a time", "momentlp/proof", "return min(shrinking, float(\"inf\") if change is None else change.size)", "return min(shrinking, alone)"),
    Mutant("what a change costs does not count", "momentlp/proof", "max(np.abs(total).sum(), abs(effect @ total))", "np.abs(total).sum()"),
    Mutant("the rounding of a sentinel forgives everything", "momentlp/problem", "MAX_ENTRY_RATIO = 2.0**20", "MAX_ENTRY_RATIO = 2.0**200"),
    Mutant("empty, though within rounding it is not", "momentlp/solving", "return dual_bound(certificate.problem, certificate.multipliers, REFUTED) <= limit", "return True"),
    Mutant("infeasible, though within rounding it is not", "momentlp/proof", "rounding = ScoreRounding(REFUTED, problem.A.entry_limits)", "rounding = ScoreRounding(0.0, problem.A.entry_limits)"),
    Mutant("a limit counts as optimal", "momentlp/solving", "return Verdict(Status.LIMIT, message)", "return Verdict(Status.OPTIMAL, message)"),
    Mutant("an infeasible point is returned at a limit", "momentlp/solving", "return h * float(multiples.min())", "return h"),
    Mutant("a worker process has no deadline", "momentlp/solving/isolation.py", "        if options.time_limit is None:\n            return None", "        if True:\n            return None"),
    # from a spec to a problem, from a solution to a separator, files
    Mutant("weights of labelled points are ignored", "momentlp/spec", "mean = column_mean(features, weights)", "mean = column_mean(features)"),
    Mutant("a standard error without its square root", "momentlp/spec", 'spread / np.sqrt(size), "mean", self.side)', 'spread / size, "mean")'),
    Mutant("minimum and maximum share are swapped", "momentlp/spec", "self.low * total, self.high * total", "(1 - self.high) * total, (1 - self.low) * total"),
    Mutant("the hyperplane is shifted", "momentlp/solution", "level = 1.0 - sum(", "level = 1.0 + sum("),
    Mutant("the digest of a file is not compared", "momentlp/formats", 'arrays["digest"].tobytes() != digest', "False"),
    # backends
    Mutant("HiGHS's duals change their sign", "backends/momentlp_highs", "multipliers=np.asarray(rows", "multipliers=-np.asarray(rows"),
    Mutant("GLPK minimises", "backends/momentlp_glpk", "glpk.glp_set_obj_dir(handle, glpk.GLP_MAX)", "glpk.glp_set_obj_dir(handle, glpk.GLP_MIN)"),
    Mutant("GLPK's rows are in the wrong order", "backends/momentlp_glpk", "matrix.indices + 1, dtype", "matrix.indices.max(initial=0) - matrix.indices + 1, dtype"),
    Mutant("SciPy's rows lose their upper bound", "backends/momentlp_scipy", "np.column_stack([program.row_lower, program.row_upper])", "np.column_stack([program.row_lower, np.inf + 0 * program.row_lower])"),
    Mutant("sifting ignores points that changed sides", "backends/momentlp_sifting", "if now.solved and found.n_changed == 0:", "if now.solved:"),
    Mutant("sifting ignores violated moments", "backends/momentlp_sifting", "elif changed.any() or violated.any():", "elif changed.any():"),
)
# fmt: on


def main() -> int:
    """Run the tests on all mutants and print which test noticed each."""
    parser = argparse.ArgumentParser(description="Put faults into the package and see whether the tests notice.")
    parser.add_argument("--check", action="store_true", help="only verify that the table of mutants is up to date")
    parser.add_argument("--only", type=int, action="append", help="number of a mutant; may be given more than once")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants that are tested at once")
    parser.add_argument("--seconds", type=float, default=MAX_SECONDS, help="time limit for the tests on one mutant")
    arguments = parser.parse_args()
    outdated = find_outdated(ROOT)
    print("\n".join(outdated) or f"{len(MUTANTS)} mutants, all up to date", flush=True)
    if outdated or arguments.check:
        return int(bool(outdated))
    chosen = [(number, mutant) for number, mutant in enumerate(MUTANTS, 1) if not arguments.only or number in arguments.only]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(arguments.jobs) as pool:
        rows = list(pool.map(lambda entry: _try_mutant(Path(folder) / str(entry[0]), *entry, arguments.seconds), chosen))
    survived = [row for row in rows if row[2] == SURVIVED]
    print("\n" + align_columns([["", "fault", "noticed by", "seconds"], *rows]))
    print(f"\n{len(rows)} mutants, {len(survived)} survived")
    return int(bool(survived))


def find_outdated(root: Path) -> list[str]:
    """Return a line for every entry of this file that does not fit the code: mutants, and tests to run first."""
    lines = [f"{test} does not exist: bring QUICK_TESTS up to date." for test in QUICK_TESTS if not (root / test).exists()]
    for number, mutant in enumerate(MUTANTS, 1):
        count = len(mutant.find(root))
        if count != 1:
            lines.append(
                f"mutant {number}, {mutant.fault!r}: {mutant.file} has {count} times {mutant.old!r}, not once: "
                "bring the mutant up to date."
            )
    return lines


def _try_mutant(root: Path, number: int, mutant: Mutant, seconds: float) -> list[str]:
    """Make a mutant, run the tests until one fails, and return a row of the table."""
    shutil.copytree(ROOT, root, ignore=shutil.ignore_patterns(*NOT_COPIED))
    mutant.apply(root)
    started = time.perf_counter()
    noticed = _run_tests(root, seconds)
    shutil.rmtree(root)
    print(f"{number:2d}  {mutant.fault}: {noticed}", flush=True)
    return [str(number), mutant.fault, noticed, f"{time.perf_counter() - started:.0f}"]


def _run_tests(root: Path, seconds: float) -> str:
    """Return the first test that fails, or that the time limit passed, or that no test failed."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not slow", *_list_tests(root)]
    search_path = os.pathsep.join([str(root), str(root / "backends"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": search_path, "PYTHONDONTWRITEBYTECODE": "1"}
    process = subprocess.Popen(
        command, cwd=root, env=environment, text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # the tests start processes of their own
        process.communicate()
        return TIMED_OUT
    failure = FAILURE.search(output)
    if failure is None or process.returncode != 1:  # an error outside a test is not a test that noticed
        print("\n".join(output.splitlines()[-LINES_SHOWN:]), flush=True)  # which says what happened instead
        return SURVIVED
    return failure[1].removeprefix("tests/").partition("[")[0]


def _list_tests(root: Path) -> list[str]:
    """Return all test files, those of ``QUICK_TESTS`` first."""
    files = [path.relative_to(root).as_posix() for path in sorted((root / "tests").rglob("test_*.py"))]
    order = {file: index for index, quick in enumerate(QUICK_TESTS) for file in files if file.startswith(quick)}
    return sorted((file for file in files if file != CHECK_TEST), key=lambda file: order.get(file, len(QUICK_TESTS)))


if __name__ == "__main__":
    sys.exit(main())
