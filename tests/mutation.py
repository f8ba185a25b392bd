"""Would the tests notice? Breaks the package in thirty ways, one at a time, and runs the test suite on each: ``make mutation``.

Each mutant is a copy of the project with one piece of code replaced. A mutant that passes all tests is a hole in them, and
the exit status is then 1. Code that has moved on is an error: the list below has to be kept in step.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from momentlp.runtime.text_table import align_columns

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("momentlp", "backends", "tests", "benchmarks", "docs", "README.md", "pyproject.toml", "Makefile", "CHANGELOG.md")
QUICK = (
    "test_certificate",
    "test_solve",
    "test_problem",
    "test_tolerances",
    "test_constraints",
    "test_exact",
    "test_contract",
)
NOBODY = "NOBODY"
FAILURE = re.compile(r"^FAILED (\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Mutant:
    """A fault, and where it is put."""

    fault: str
    path: str
    old: str
    new: str

    def apply(self, root: Path) -> None:
        """Break a copy of the project."""
        path = root / self.path
        text = path.read_text()
        if text.count(self.old) != 1:
            sys.exit(f"{self.path} has {text.count(self.old)} times {self.old!r}, not once: bring the mutant up to date.")
        path.write_text(text.replace(self.old, self.new))


MUTANTS = (
    Mutant("the bound counts the wrong points", "momentlp/certificate.py", "caps * np.maximum(scores, 0.0)", "caps * np.maximum(-scores, 0.0)"),
    Mutant("the certificate is skipped", "momentlp/certificate.py", "return bool(self.error <= tol)", "return True"),
    Mutant("violated moments are forgiven", "momentlp/certificate.py", "compute_moment_residual(problem, h, sums.activity, sums.min_magnitude), sums.max_violation", "sums.max_violation"),
    Mutant("upper and lower face the wrong way", "momentlp/certificate.py", "facing = np.where(y > 0, problem.upper, problem.lower)\n    wrong", "facing = np.where(y < 0, problem.upper, problem.lower)\n    wrong"),
    Mutant("no scaling", "momentlp/scaling.py", "factors=1.0 / _power_of_two(sizes)", "factors=np.ones_like(sizes)"),
    Mutant("multipliers are not scaled back", "momentlp/scaling.py", "answer.multipliers * self.factors * self.weight", "answer.multipliers * self.weight"),
    Mutant("noise is scaled up", "momentlp/scaling.py", 'np.where(problem.noise, problem.A.per_moment("noise_scale"), sizes)', "sizes"),
    Mutant("real data is called noise", "momentlp/moments.py", "same = (high - low <= ulp) &", "same = (high - low <= 1e9 * ulp) &"),
    Mutant("a tolerance on the mean has the wrong sign", "momentlp/moments.py", "np.concatenate([-width, width[loose]])", "np.concatenate([width, -width[loose]])"),
    Mutant("a tolerance on the sum is one-sided", "momentlp/moments.py", '"lower": -width,', '"lower": 0 * width,'),
    Mutant("the mean is not subtracted", "momentlp/moments.py", "result = np.asarray(chosen - self.origin, dtype=np.float64)", "result = np.asarray(chosen - 0 * self.origin, dtype=np.float64)"),
    Mutant("outliers are scaled the wrong way", "momentlp/linear_program.py", "self.col_lower / unit, self.col_upper / unit", "self.col_lower * unit, self.col_upper * unit"),
    Mutant("the centre of sparse features has the wrong sign", "momentlp/linear_program.py", "sp.csc_array(centre[:, None])", "sp.csc_array(-centre[:, None])"),
    Mutant("bounds stay behind when caps are scaled", "momentlp/problem.py", "lower=changed.lower / cap, upper=changed.upper / cap", "lower=changed.lower, upper=changed.upper"),
    Mutant("polishing goes the wrong way", "momentlp/refine.py", "h[between] + step_h", "h[between] - step_h"),
    Mutant("infeasible without proof", "momentlp/infeasibility.py", "return farkas_value(problem, y) < -tol * unit", "return True"),
    Mutant("a small share is called empty", "momentlp/solve.py", "* lightest if from_means else bound <= 1e-12 * lightest", "* lightest"),
    Mutant("a limit is called optimal", "momentlp/solve.py", "return Status.LIMIT, answer.message", "return Status.OPTIMAL, answer.message"),
    Mutant("a point that is not feasible is handed out at a limit", "momentlp/solve.py", "return h * float(room.min())", "return h"),
    Mutant("weights of labelled points are forgotten", "momentlp/spec.py", "features.T @ weights / weights.sum()", "features.T @ (0 * weights + 1) / weights.size"),
    Mutant("a standard error without its square root", "momentlp/tolerances.py", 'spread / np.sqrt(size), "mean")', 'spread / size, "mean")'),
    Mutant("least and largest share change places", "momentlp/constraints.py", "self.low * total, self.high * total", "(1 - self.high) * total, (1 - self.low) * total"),
    Mutant("the hyperplane is shifted", "momentlp/separator.py", "level = 1.0 - sum(", "level = 1.0 + sum("),
    Mutant("what is not a number is a proof", "momentlp/certificate.py", "if np.isfinite([*figures, self.objective, self.bound]).all() else", "if True else"),
    Mutant("HiGHS's duals change their sign", "backends/momentlp_highs/__init__.py", "multipliers=np.asarray(rows", "multipliers=-np.asarray(rows"),
    Mutant("GLPK minimises", "backends/momentlp_glpk/__init__.py", "glpk.glp_set_obj_dir(handle, glpk.GLP_MAX)", "glpk.glp_set_obj_dir(handle, glpk.GLP_MIN)"),
    Mutant("GLPK's rows are off by one", "backends/momentlp_glpk/__init__.py", "matrix.indices + 1, dtype", "matrix.indices.max(initial=0) - matrix.indices + 1, dtype"),
    Mutant("sifting overlooks points that changed sides", "backends/momentlp_sifting/sift.py", "if now.solved and found.strays == 0:", "if now.solved:"),
    Mutant("sifting overlooks violated moments", "backends/momentlp_sifting/restricted.py", "elif strays.any() or beyond.any():", "elif strays.any():"),
    Mutant("a chunk is read twice", "momentlp/moments.py", "result[span] = part", "result[span] = 2 * part"),
    Mutant("SciPy's rows lose their upper bound", "backends/momentlp_scipy/__init__.py", "np.column_stack([program.row_lower, program.row_upper])", "np.column_stack([program.row_lower, np.inf + 0 * program.row_lower])"),
    Mutant("the exact simplex takes the largest ratio", "momentlp/exact_simplex.py", "if abs(reduced[j] * row[best]) < abs", "if abs(reduced[j] * row[best]) > abs"),
    Mutant("whole numbers are twice the floats", "momentlp/whole.py", "exponents - 53 + trailing", "exponents - 52 + trailing"),
    Mutant("the digest is not looked at", "momentlp/container.py", 'arrays["digest"].tobytes() != digest', "False"),
    Mutant("a worker has no deadline", "momentlp/isolation.py", "        if options.time_limit is None:\n            return None", "        if True:\n            return None"),
)  # fmt: skip


def main() -> int:
    """Try all mutants and print which test noticed each."""
    parser = argparse.ArgumentParser(description="Break the package in many ways and see whether the tests notice.")
    parser.add_argument("--only", type=int, action="append", help="number of a mutant; may be given more than once")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    chosen = [(number, mutant) for number, mutant in enumerate(MUTANTS, 1) if not arguments.only or number in arguments.only]
    with tempfile.TemporaryDirectory() as folder:
        for number, mutant in chosen:
            mutant.apply(_copy(Path(folder) / str(number)))
        with ThreadPoolExecutor(arguments.jobs) as pool:
            rows = list(pool.map(lambda entry: _try(Path(folder) / str(entry[0]), *entry), chosen))
    survived = [row for row in rows if row[2] == NOBODY]
    print("\n" + align_columns([["", "fault", "noticed by", "seconds"], *rows]))
    print(f"\n{len(rows)} mutants, {len(survived)} survived")
    return int(bool(survived))


def _copy(target: Path) -> Path:
    target.mkdir()
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, target / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target / part)
    return target


def _try(root: Path, number: int, mutant: Mutant) -> list[str]:
    """Run the tests until one fails, the likeliest first, and return a row of the table."""
    started = time.perf_counter()
    quick = [f"tests/{name}.py" for name in QUICK]
    rest = sorted(f"tests/{path.name}" for path in (root / "tests").glob("test_*.py") if f"tests/{path.name}" not in quick)
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not slow", *quick, *rest]
    places = os.pathsep.join([str(root), str(root / "backends"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": places, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    found = FAILURE.search(done.stdout)
    noticed = found[1] if found and done.returncode == 1 else NOBODY  # anything else than a failed test is no notice
    noticed = noticed.removeprefix("tests/").partition("[")[0]
    print(f"{number:2d}  {mutant.fault}: {noticed}", flush=True)
    return [str(number), mutant.fault, noticed, f"{time.perf_counter() - started:.0f}"]


if __name__ == "__main__":
    sys.exit(main())
