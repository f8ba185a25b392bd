"""Measure how long ``import momentlp`` takes in a fresh interpreter, beside the packages that it must import.

Run ``python -m benchmarks.cost.import_time``.
"""

from __future__ import annotations

import subprocess
import sys
from functools import partial

from benchmarks.common.timing import print_ratios, time_interleaved

STATEMENTS = {
    "nothing": "pass",
    "numpy, scipy.sparse, pydantic": "import numpy, scipy.sparse, scipy.sparse.linalg, pydantic",
    "momentlp": "import momentlp",
}


def main() -> None:
    """Print the times of fresh interpreters, and their ratios."""

    def run(code: str) -> None:
        subprocess.run([sys.executable, "-c", code], check=True)

    functions = {name: partial(run, code) for name, code in STATEMENTS.items()}
    print_ratios(time_interleaved(functions, rounds=9), "numpy, scipy.sparse, pydantic")


if __name__ == "__main__":
    main()
