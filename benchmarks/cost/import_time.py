"""How long ``import momentlp`` takes in a fresh interpreter, beside what it cannot do without."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

from benchmarks.common.timing import interleaved, print_ratios

STATEMENTS = {
    "nothing": "pass",
    "numpy, scipy.sparse, pydantic": "import numpy, scipy.sparse, scipy.sparse.linalg, pydantic",
    "momentlp": "import momentlp",
}


def main() -> None:
    """Print the times of fresh interpreters, and their ratios."""

    def run(code: str) -> None:
        subprocess.run([sys.executable, "-c", code], check=True)

    ways = {name: partial(run, code) for name, code in STATEMENTS.items()}
    print_ratios(interleaved(ways, rounds=9), "numpy, scipy.sparse, pydantic")


if __name__ == "__main__":
    main()
