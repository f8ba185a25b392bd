"""Made-up data of the paper's three cases: another name for :mod:`momentlp.datasets.synthetic`."""

from momentlp.datasets.synthetic import CASES, Case, make_gaussian, make_ring, make_separable

__all__ = ["CASES", "Case", "make_gaussian", "make_ring", "make_separable"]
