"""All experiments, in the order in which ``momentlp reproduce all`` runs them. A module is imported when it is needed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from momentlp.experiments.engine.runner import Experiment

__all__ = ["EXPERIMENTS", "load_experiment"]

EXPERIMENTS = {
    "figure1": ("paper.figure1", "FIGURE1", "Three synthetic classes, drawn like the paper's first figure."),
    "usps-mean": ("paper.usps_mean", "USPS_MEAN", "Errors of a linear SVM, and the set found by the true mean."),
    "usps-curves": (
        "paper.curves",
        "USPS_CURVES",
        "Precision and recall by the number of labels, the paper's second figure.",
    ),
    "ocsvm": ("paper.ocsvm", "OCSVM", "The one-class SVM that the paper compares with."),
    "epsilon": ("paper.epsilon", "EPSILON", "Which epsilon gives the paper's curves."),
    "selection": ("paper.selection", "SELECTION", "Which epsilon is picked without negatives."),
    "inside": ("paper.labelled_inside", "INSIDE", "What changes if the labelled images are part of X."),
    "kernels": ("paper.kernels", "KERNELS", "Which kernel finds the paper's third synthetic class."),
    "feature-spaces": (
        "paper.feature_spaces",
        "FEATURE_SPACES",
        "The paper's three feature spaces on the digits, up to 33,152 moments; 6 GB for each job.",
    ),
    "beyond": ("beyond.few_labels", "BEYOND", "The same curves with far fewer labels."),
    "digits": ("beyond.few_labels", "ALL_DIGITS", "All ten digits, not only zero."),
    "ideas": ("beyond.small_sample_ideas", "IDEAS", "Which ideas for small samples help."),
}
"""By name: module, variable, and the help text of the command."""


def load_experiment(name: str) -> Experiment:
    """Return an experiment by its name."""
    module, variable, _ = EXPERIMENTS[name]
    found: Experiment = getattr(import_module(f"momentlp.experiments.{module}"), variable)
    return found
