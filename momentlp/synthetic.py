"""The three synthetic cases of the paper: the public name of :mod:`momentlp.datasets.synthetic`."""

from momentlp.datasets.synthetic import CASES, Case, make_gaussian, make_ring, make_separable

__all__ = ["CASES", "Case", "make_gaussian", "make_ring", "make_separable"]
