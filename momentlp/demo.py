"""One digit among scikit-learn's 1797, found from thirty of its kind through every backend, and a picture of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momentlp.arrays import FloatArray, IndexArray
from momentlp.compare import Comparison, compare
from momentlp.errors import ExtraMissingError, OptionError, SolverError
from momentlp.features import Linear
from momentlp.files import write_atomically
from momentlp.solution import Solution
from momentlp.spec import Spec
from momentlp.tolerances import Relative

__all__ = ["Demo", "draw", "run_demo"]

STANDARD_ERRORS = 2.0


@dataclass(frozen=True, eq=False)
class Demo:
    """What the demo found. Truth is used for the counts alone, never for the search."""

    digit: int
    images: FloatArray
    truth: NDArray[np.bool_]
    labelled: IndexArray
    comparison: Comparison
    solution: Solution

    @property
    def unlabelled(self) -> NDArray[np.bool_]:
        """The points that had to be found."""
        mask = np.ones(self.truth.size, dtype=bool)
        mask[self.labelled] = False
        return mask

    @property
    def found(self) -> NDArray[np.bool_]:
        """The unlabelled points with a membership above one half."""
        return (self.solution.membership > 0.5) & self.unlabelled

    @property
    def counts(self) -> dict[str, Any]:
        """How many were found, rightly and wrongly, and missed."""
        right = int((self.found & self.truth).sum())
        total = int((self.truth & self.unlabelled).sum())
        return {
            "digit": self.digit,
            "points": int(self.truth.size),
            "labelled": int(self.labelled.size),
            "found": int(self.found.sum()),
            "right": right,
            "wrong": int(self.found.sum()) - right,
            "missed": total - right,
            "precision": right / max(1, int(self.found.sum())),
            "recall": right / max(1, total),
        }


def run_demo(
    digit: int = 0, n_labelled: int = 30, random_state: int = 0, on_start: Callable[[str], Any] | None = None
) -> Demo:
    """Find a digit from a few labelled ones.

    The mean of the set may differ from the mean of the labelled images by two standard errors in every pixel.
    """
    from sklearn.datasets import load_digits

    data = load_digits()
    truth = data.target == digit
    if digit not in range(10):
        raise OptionError(f"digit must be one of 0 to 9, not {digit!r}.")
    if not 2 <= n_labelled < int(truth.sum()):
        raise OptionError(f"labelled must be between 2 and {int(truth.sum()) - 1}, not {n_labelled}.")
    labelled = np.sort(np.random.default_rng(random_state).choice(np.flatnonzero(truth), n_labelled, replace=False))
    error = data.data[labelled].std(axis=0, ddof=1) / np.sqrt(n_labelled)
    spec = Spec(features=Linear(), tolerance=Relative(STANDARD_ERRORS * error))
    comparison = compare(spec.compile(data.data, labelled=labelled), on_start=on_start)
    if not comparison.solutions:
        raise SolverError("; ".join(f"{row['backend']}: {row['message']}" for row in comparison))
    best = max(
        comparison.solutions.values(), key=lambda solution: (solution.certificate.holds(), solution.backend == "highs")
    )
    return Demo(digit, data.images, truth, labelled, comparison, best)


def draw(demo: Demo, path: Path) -> None:
    """Draw what was known, what was found and the hyperplane between, as a PNG or SVG."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise ExtraMissingError("drawing needs matplotlib: run pip install 'momentlp[plot]'.") from None
    figure: Any = Figure(figsize=(11, 7.6), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    figure.get_layout_engine().set(h_pad=0.08, w_pad=0.08)
    top, bottom = figure.subfigures(2, 1, height_ratios=[1.0, 1.25])
    known, scores = top.subplots(1, 2, width_ratios=[1, 2.1])
    found = bottom.subplots()
    _draw_known(known, demo)
    _draw_scores(scores, demo)
    _draw_found(found, demo)
    form = path.suffix.lstrip(".") or "png"
    write_atomically(path, lambda stream: figure.savefig(stream, format=form, dpi=130))


def _draw_known(axes: Any, demo: Demo) -> None:
    axes.imshow(_tiles(demo.images[demo.labelled], 6), cmap="gray_r", vmin=0, vmax=16)
    axes.set_title(f"Known: {demo.labelled.size} images of a {demo.digit}", loc="left", fontsize=11)
    axes.set_axis_off()


def _draw_scores(axes: Any, demo: Demo) -> None:
    scores = demo.solution.scores
    own, other = scores[demo.truth & demo.unlabelled], scores[~demo.truth]
    edges = np.linspace(min(scores.min(), -0.1), max(scores.max(), 0.1), 61)
    edges += np.min(np.abs(edges)) * np.sign(edges[np.argmin(np.abs(edges))]) * -1  # one edge lies on the hyperplane
    axes.hist(np.clip(other, edges[0], edges[-1]), edges, color="#9aa5b1", label="other digits")
    axes.hist(np.clip(own, edges[0], edges[-1]), edges, color="#d1495b", alpha=0.85, label=f"{demo.digit}s not labelled")
    axes.axvline(0, color="black", linewidth=1.2)
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.8)
    axes.annotate(
        "out", (0, 1), (-8, -6), xycoords=("data", "axes fraction"), textcoords="offset points", ha="right", va="top"
    )
    axes.annotate("in", (0, 1), (8, -6), xycoords=("data", "axes fraction"), textcoords="offset points", va="top")
    axes.set_title("Score of every image: the hyperplane is at zero", loc="left", fontsize=11)
    axes.set_xlabel("score  1 - (A y)", fontsize=9)
    axes.set_ylabel("images", fontsize=9)
    axes.legend(frameon=False, fontsize=9, loc="upper left")
    axes.spines[["top", "right"]].set_visible(False)


def _draw_found(axes: Any, demo: Demo) -> None:
    per_row = 28
    order = np.argsort(-demo.solution.scores, kind="stable")
    found = order[demo.found[order]]
    missed = order[(demo.truth & demo.unlabelled & ~demo.found)[order]]
    shown = [*found, *missed]
    gap = -(-len(found) // per_row)
    sheet = np.vstack(
        [_tiles(demo.images[found], per_row), np.zeros((5, per_row * 9 + 1)), _tiles(demo.images[missed], per_row)]
    )
    axes.imshow(sheet, cmap="gray_r", vmin=0, vmax=16)
    for place, point in enumerate(shown):
        row, column = divmod(place if place < len(found) else place - len(found), per_row)
        top = row * 9 + (0 if place < len(found) else gap * 9 + 6)
        if place < len(found) and not demo.truth[point]:
            axes.add_patch(_frame(column * 9, top))
    counts = demo.counts
    axes.set_title(
        f"Found: {counts['found']} more, best first; {counts['wrong']} of them wrong (framed).   "
        f"Below: the {counts['missed']} that were missed.",
        loc="left",
        fontsize=11,
    )
    axes.set_axis_off()


def _frame(left: float, top: float) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((left - 0.5, top - 0.5), 10, 10, fill=False, edgecolor="#d1495b", linewidth=1.6)


def _tiles(images: FloatArray, per_row: int) -> FloatArray:
    """Lay 8 x 8 images out in rows, one white pixel between them."""
    rows = max(1, -(-len(images) // per_row))
    sheet = np.zeros((rows * 9 + 1, per_row * 9 + 1))
    for place, image in enumerate(images):
        row, column = divmod(place, per_row)
        sheet[row * 9 + 1 : row * 9 + 9, column * 9 + 1 : column * 9 + 9] = image
    return sheet
