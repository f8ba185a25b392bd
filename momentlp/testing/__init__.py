"""Tests for your own backends and feature maps.

:class:`BackendContract` is a pytest suite for backends, :class:`FeatureMapContract` one for feature maps. The strategies of
:mod:`momentlp.testing.strategies` draw points, half-spaces and problems for your own property tests, and
:mod:`momentlp.testing.known_problems` has problems with a known optimum. The backends of :mod:`momentlp.testing.faults`
return wrong answers on purpose. ``pip install 'momentlp[testing]'`` installs pytest and hypothesis; the contract of backends
needs only pytest.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from momentlp.errors import ExtraMissingError
from momentlp.testing.backend_contract import BackendContract, backends_without_contract
from momentlp.testing.known_problems import KNOWN, KnownProblem, half_space

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

# These need hypothesis, so they are loaded when first used.
MODULE_OF_NAME = {"FeatureMapContract": "feature_contract"} | dict.fromkeys(
    ("clouds", "feature_maps", "half_spaces", "labelled_sets", "problems", "tolerances"), "strategies"
)


def __getattr__(name: str) -> Any:
    if name not in MODULE_OF_NAME:
        raise AttributeError(f"module 'momentlp.testing' has no attribute {name!r}")
    try:
        return getattr(import_module(f"momentlp.testing.{MODULE_OF_NAME[name]}"), name)
    except ModuleNotFoundError as error:
        raise ExtraMissingError(
            f"momentlp.testing.{name} needs the package {error.name!r}: pip install 'momentlp[testing]'."
        ) from error
