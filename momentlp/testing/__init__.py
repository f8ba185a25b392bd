"""Tests for users to run on what they add: backends, feature maps, and random data to try them on.

:class:`BackendContract` is a pytest suite by which any backend proves itself, :class:`FeatureMapContract` one for feature
maps; the strategies of :mod:`momentlp.testing.strategies` draw points, half-spaces and problems for property tests of your
own. The backends of :mod:`momentlp.testing.faults` misbehave on purpose. ``pip install 'momentlp[testing]'`` brings pytest
and hypothesis; the contract of backends needs only the first.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from momentlp.errors import ExtraMissingError
from momentlp.testing.contract import KNOWN, BackendContract, KnownProblem, backends_without_contract, half_space

if TYPE_CHECKING:
    from momentlp.testing.feature_contract import FeatureMapContract
    from momentlp.testing.strategies import clouds, feature_maps, half_spaces, labelled_sets, problems, tolerances

__all__ = [
    "KNOWN",
    "BackendContract",
    "FeatureMapContract",
    "KnownProblem",
    "backends_without_contract",
    "clouds",
    "feature_maps",
    "half_space",
    "half_spaces",
    "labelled_sets",
    "problems",
    "tolerances",
]

WITH_HYPOTHESIS = {"FeatureMapContract": "feature_contract"} | dict.fromkeys(
    ("clouds", "feature_maps", "half_spaces", "labelled_sets", "problems", "tolerances"), "strategies"
)


def __getattr__(name: str) -> Any:
    if name not in WITH_HYPOTHESIS:
        raise AttributeError(f"module 'momentlp.testing' has no attribute {name!r}")
    try:
        return getattr(import_module(f"momentlp.testing.{WITH_HYPOTHESIS[name]}"), name)
    except ModuleNotFoundError as error:
        raise ExtraMissingError(
            f"momentlp.testing.{name} needs the package {error.name!r}: pip install 'momentlp[testing]'."
        ) from error
