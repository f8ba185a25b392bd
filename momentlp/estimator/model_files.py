"""Fitted models as files: a JSON header and plain arrays, see :mod:`momentlp.formats.container`.

Reading one cannot run code. The keys of the header are part of the format and stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic_core import PydanticSerializationError

from momentlp.errors import FileFormatError
from momentlp.estimator.calibration import Calibration
from momentlp.estimator.decision_rule import DecisionRule
from momentlp.estimator.score_model import CURVES, PRIOR_LEVELS, ScoreModel
from momentlp.features import FeatureMap, FittedMap
from momentlp.formats.container import Arrays, read_container, write_container
from momentlp.kinds import Kind
from momentlp.problem.problem import Problem
from momentlp.problem.problem_file import pack_problem, unpack_problem
from momentlp.proof.certificate import Certificate
from momentlp.solution.separator import Separator
from momentlp.solution.solution import Solution
from momentlp.solving.solve_problem import solve
from momentlp.spec.constraints import Constraint
from momentlp.spec.tolerances import Tolerance
from momentlp.status import Status

__all__ = ["load_detector", "load_model", "save_model"]

FORMAT = "momentlp-model"
VERSION = 1
MIN_TOL = 1e-7  # a certificate is judged within the tol of the model, but never within less
FAMILIES: Mapping[str, Any] = {"features": FeatureMap, "tolerance": Tolerance, "constraints": Constraint}
SOLUTION_FIELDS = ("backend", "engine", "version", "message", "iterations")
NUMBER_ATTRIBUTES = (
    "class_prior_",
    "offset_",
    "n_iter_",
    "n_features_in_",
    "best_index_",
    "best_score_",
    "one_standard_error_",
)
LABEL_DTYPES = frozenset(
    ["bool", "str", "object", "float16", "float32", "float64"]
    + [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
)


def save_model(model: Any, path: Path) -> None:
    """Write a fitted classifier, or an outlier detector with its classifier.

    Raises
    ------
    FileFormatError
        If a parameter or the type of the labels cannot be saved.
    """
    arrays: Arrays = {}
    detector = model if hasattr(model, "classifier_") else None
    if detector is not None:
        model = detector.classifier_
    solution: Solution = model.solution_
    header: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "kind": type(model).__name__,
        "params": _params_to_json(model),
        "problem": pack_problem(solution.problem, arrays),
        "solution": {name: getattr(solution, name) for name in SOLUTION_FIELDS}
        | {"status": solution.status.name, "seconds": dict(solution.seconds), "repairs": list(solution.repairs)},
        "classes": {
            "values": model.classes_.tolist(),
            "dtype": _label_dtype(model.classes_),
            "positive": model.classes_.tolist().index(model.pos_label_),
        },
        "attributes": {name: getattr(model, name) for name in NUMBER_ATTRIBUTES if hasattr(model, name)},
        "names": _column_names(model),
    }
    arrays |= {
        "model.h": solution.membership,
        "model.y": solution.multipliers,
        "model.membership": model.membership_,
        "model.found": model.transduction_ == model.pos_label_,
        "model.labelled": model.labelled_,
    }
    _pack_rule(model.rule_, solution, header, arrays)
    if detector is not None:
        header["kind"] = type(detector).__name__
        header["detector"] = {
            "params": _params_to_json(detector),
            "offset": float(detector.offset_),
            "names": _column_names(detector),
        }
    if hasattr(model, "cv_results_"):
        header["tried"] = {name: _to_json("features", value) for name, value in model.best_params_.items()}
        header["candidates"] = [_to_json("features", value) for value in model.cv_results_["param_features"]]
        arrays |= {f"cv.{name}": values for name, values in model.cv_results_.items() if values.dtype.kind != "O"}
    write_container(path, header, arrays)


def _pack_rule(rule: DecisionRule, solution: Solution, header: dict[str, Any], arrays: Arrays) -> None:
    """Add a decision rule to a header and its arrays. The smoother is saved as its number among the maps of the problem."""
    header["smoother"] = None
    if rule.smoother is not None and rule.values is not None:
        maps = [block.fitted for block in solution.problem.blocks]
        header["smoother"] = next(number for number, fitted in enumerate(maps) if fitted is rule.smoother)
        arrays["model.values"] = rule.values
    header["voters"] = len(rule.voters)
    for number, voter in enumerate(rule.voters):
        _pack_voter(voter, solution.separator, f"voter{number}", arrays)
    header["threshold"] = float(rule.threshold)
    if isinstance(rule.calibration, ScoreModel):
        arrays |= {f"score_model.{name}": np.asarray(array) for name, array in rule.calibration.arrays().items()}
    elif rule.calibration is not None:
        arrays["calibration.scores"] = rule.calibration.scores
        arrays["calibration.probabilities"] = rule.calibration.probabilities


def load_model(family: Any, path: Path) -> Any:
    """Read a classifier of the class ``family`` or of a direct subclass."""

    def build(header: Mapping[str, Any], arrays: Arrays) -> Any:
        kinds = {kind.__name__: kind for kind in (family, *family.__subclasses__())}
        if header["kind"] not in kinds:
            raise FileFormatError(f"it holds a {header['kind']!s:.40}, not a {family.__name__}")
        return _build_model(kinds[header["kind"]], header, arrays)

    return read_container(path, FORMAT, VERSION, "saved model", build)


def load_detector(family: Any, classifier: Any, path: Path) -> Any:
    """Read an outlier detector of the class ``family``. ``classifier`` is the class of the classifier that it holds."""

    def build(header: Mapping[str, Any], arrays: Arrays) -> Any:
        if header["kind"] != family.__name__:
            raise FileFormatError(f"it holds a {header['kind']!s:.40}, not a {family.__name__}")
        saved = header["detector"]
        detector = family(**{str(name): _parse_parameter(str(name), value) for name, value in saved["params"].items()})
        detector.classifier_ = _build_model(classifier, header, arrays)
        detector.offset_, detector.n_features_in_ = float(saved["offset"]), detector.classifier_.n_features_in_
        _set_column_names(detector, saved["names"])
        return detector

    return read_container(path, FORMAT, VERSION, "saved model", build)


def _build_model(kind: Any, header: Mapping[str, Any], arrays: Arrays) -> Any:
    """Build a fitted classifier of the class ``kind``; raise FileFormatError where the parts do not fit together."""
    model = kind(**{str(name): _parse_parameter(str(name), value) for name, value in header["params"].items()})
    problem = unpack_problem(header["problem"], arrays)
    solution = _build_solution(problem, header["solution"], arrays, float(model.tol))
    model.solution_, model.separator_ = solution, solution.separator
    classes = header["classes"]
    model.classes_ = _read_classes(classes["values"], classes["dtype"])
    if model.classes_.shape != (2,) or model.classes_[0] == model.classes_[1] or classes["positive"] not in (0, 1):
        raise FileFormatError("it does not name two classes")
    model.pos_label_ = model.classes_.tolist()[classes["positive"]]
    model.membership_ = _read_numbers(arrays, "model.membership", problem.n_points)
    found, model.labelled_ = (
        _read_numbers(arrays, f"model.{name}", problem.n_points).astype(bool) for name in ("found", "labelled")
    )
    if (model.membership_ < 0).any() or (model.membership_ > 1).any():
        raise FileFormatError("its memberships are not between 0 and 1")
    model.transduction_ = model.classes_[np.where(found, classes["positive"], 1 - classes["positive"])]
    for name, value in header["attributes"].items():
        if name not in NUMBER_ATTRIBUTES or isinstance(value, bool) or not isinstance(value, (int, float)):
            raise FileFormatError(f"its {name!s:.40} is not a number")
        setattr(model, name, value)
    widths = {len(block.fitted.inputs) for block in problem.blocks if block.fitted is not None}
    if widths != {model.n_features_in_}:
        raise FileFormatError("its number of columns is not that of its feature maps")
    _set_column_names(model, header["names"])
    model.rule_ = _read_rule(header, solution, arrays)
    if "candidates" in header:
        _restore_selection(model, header, arrays)
    return model


def _build_solution(problem: Problem, saved: Mapping[str, Any], arrays: Arrays, tol: float) -> Solution:
    """Build the solution of a problem, with a new certificate; raise FileFormatError if the certificate does not hold."""
    h, y = (np.asarray(arrays[f"model.{name}"], dtype=np.float64) for name in "hy")
    if h.shape != (problem.n_points,) or y.shape != (problem.n_moments,):
        raise FileFormatError("its memberships and multipliers do not fit its problem")
    seconds = {str(name): float(value) for name, value in saved["seconds"].items()}
    solution = Solution(
        problem,
        Status[saved["status"]],
        h,
        y,
        Certificate.of(problem, h, y),
        **{name: saved[name] for name in SOLUTION_FIELDS},
        seconds=seconds,
        repairs=tuple(saved["repairs"]),
        resolve=partial(solve, backend=str(saved["backend"])),
    )
    if solution.status is Status.OPTIMAL and not solution.certificate.holds(max(tol, MIN_TOL)):
        raise FileFormatError("its certificate does not hold")
    return solution


def _read_calibration(arrays: Arrays) -> Calibration | ScoreModel | None:
    if "score_model.scores" in arrays:
        size, n_levels = arrays["score_model.scores"].size, PRIOR_LEVELS.size
        curves = {name: _read_numbers(arrays, f"score_model.{name}", size) for name in CURVES}
        prior = float(_read_numbers(arrays, "score_model.prior", 1)[0])
        return ScoreModel(
            **curves, prior=prior, prior_quantiles=_read_numbers(arrays, "score_model.prior_quantiles", n_levels)
        )
    if "calibration.scores" in arrays:
        size = arrays["calibration.scores"].size
        return Calibration(*(_read_numbers(arrays, f"calibration.{name}", size) for name in ("scores", "probabilities")))
    return None


def _read_rule(header: Mapping[str, Any], solution: Solution, arrays: Arrays) -> DecisionRule:
    calibration = _read_calibration(arrays)
    threshold = header.get("threshold", 0.0)  # files of version 0.1 have none
    if isinstance(threshold, bool) or not isinstance(threshold, (int, float)) or not math.isfinite(threshold):
        raise FileFormatError(f"its threshold is {threshold!r:.40}, not a number")
    voters = tuple(_read_voter(solution.separator, f"voter{number}", arrays) for number in range(int(header["voters"])))
    if header["smoother"] is None:
        return DecisionRule(voters, calibration=calibration, threshold=float(threshold))
    smoother = solution.problem.blocks[int(header["smoother"])].fitted
    if smoother is None or "node" not in smoother.state:
        raise FileFormatError("it has no graph to average over")
    values = _read_numbers(arrays, "model.values", smoother.state["node"].size)
    return DecisionRule(voters, smoother, values, calibration)


def _restore_selection(model: Any, header: Mapping[str, Any], arrays: Arrays) -> None:
    candidates = np.empty(len(header["candidates"]), dtype=object)
    candidates[:] = [_parse_parameter("features", value) for value in header["candidates"]]
    model.best_params_ = {name: _parse_parameter("features", value) for name, value in header["tried"].items()}
    tried = {name.removeprefix("cv."): array for name, array in arrays.items() if name.startswith("cv.")}
    model.cv_results_ = {"param_features": candidates, **tried}


def _pack_voter(voter: Separator, like: Separator, key: str, arrays: Arrays) -> None:
    """Pack a separator. Of the state of its feature maps, pack only the arrays that ``like`` does not share."""
    arrays[f"{key}.level"] = np.array(voter.level)
    for number, (fitted, other) in enumerate(zip(voter.maps, like.maps, strict=True)):
        if fitted is not None and other is not None:
            changed = {name: array for name, array in fitted.state.items() if array is not other.state.get(name)}
            arrays |= {f"{key}.state{number}.{name}": np.asarray(array) for name, array in changed.items()}
    for number, (normal, origin) in enumerate(zip(voter.normals, voter.origins, strict=True)):
        arrays[f"{key}.normal{number}"], arrays[f"{key}.origin{number}"] = normal, origin


def _read_voter(like: Separator, key: str, arrays: Arrays) -> Separator:
    """Return a separator with the feature maps of ``like``, and with the state that was packed for it."""
    normals = tuple(
        _read_numbers(arrays, f"{key}.normal{number}", normal.size) for number, normal in enumerate(like.normals)
    )
    origins = tuple(
        _read_numbers(arrays, f"{key}.origin{number}", origin.size) for number, origin in enumerate(like.origins)
    )
    maps = tuple(_read_state(fitted, f"{key}.state{number}.", arrays) for number, fitted in enumerate(like.maps))
    return Separator(normals, origins, float(arrays[f"{key}.level"]), maps, like.names)


def _read_state(fitted: FittedMap | None, prefix: str, arrays: Arrays) -> FittedMap | None:
    changed = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    if fitted is None or not changed:
        return fitted
    for name, array in changed.items():
        like = fitted.state.get(name)
        if like is None or like.shape != array.shape or like.dtype != array.dtype:
            raise FileFormatError(f"{prefix}{name} does not fit the feature map")
    return replace(fitted, state={**fitted.state, **changed})


def _read_numbers(arrays: Arrays, key: str, length: int) -> NDArray[np.float64]:
    values = np.asarray(arrays[key], dtype=np.float64)
    if values.shape != (length,) or not np.isfinite(values).all():
        raise FileFormatError(f"{key} does not hold {length} numbers")
    return values


def _label_dtype(classes: NDArray[Any]) -> str:
    """Return the name of the type of the labels, so that a loaded model predicts labels of the same type."""
    name = {"U": "str", "O": "object"}.get(classes.dtype.kind, classes.dtype.name)
    if name not in LABEL_DTYPES:
        raise FileFormatError(f"y has labels of type {name}, which cannot be saved: use integers, floats or text.")
    return name


def _read_classes(values: Any, dtype: Any) -> NDArray[Any]:
    """Return the labels in their type. Only types in ``LABEL_DTYPES`` are passed to numpy, whatever the file says."""
    if dtype not in LABEL_DTYPES:
        raise FileFormatError(f"its labels are of type {dtype!s:.40}")
    text = dtype in ("str", "object")
    if not isinstance(values, list) or any(isinstance(value, str) is not text for value in values):
        raise FileFormatError("its labels do not have the type that it names")
    classes = np.array(values).astype(dtype)  # values that do not fit wrap around, in every version of numpy
    if classes.tolist() != values:
        raise FileFormatError(f"its labels are not of type {dtype}")
    return classes


def _params_to_json(model: Any) -> dict[str, Any]:
    return {name: _to_json(name, value) for name, value in model.get_params(deep=False).items()}


def _column_names(model: Any) -> list[str] | None:
    return [str(name) for name in model.feature_names_in_] if hasattr(model, "feature_names_in_") else None


def _set_column_names(model: Any, names: list[str] | None) -> None:
    if names is not None:
        if len(names) != model.n_features_in_:
            raise FileFormatError(f"it names {len(names)} columns, not {model.n_features_in_}")
        model.feature_names_in_ = np.array([str(name) for name in names], dtype=object)


def _to_json(name: str, value: Any) -> Any:
    """Return a parameter as JSON can hold it; raise FileFormatError if it cannot."""
    if isinstance(value, Kind):
        try:
            return value.model_dump(mode="json")
        except PydanticSerializationError as error:
            raise FileFormatError(f"{name} cannot be saved: {str(error).rpartition('ValueError: ')[2]}") from None
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, tuple):
        return {"tuple": [_to_json(name, entry) for entry in value]}
    if isinstance(value, (list, np.ndarray)):
        return [_to_json(name, entry) for entry in value]
    if isinstance(value, Mapping):
        return {str(key): _to_json(name, entry) for key, entry in value.items()}
    raise FileFormatError(
        f"{name} is a {type(value).__name__}, which cannot be saved without a pickle: use a name or plain values, or keep "
        "the model with skops or joblib."
    )


def _parse_parameter(name: str, value: Any) -> Any:
    """Build feature maps, tolerances and constraints from their fields; other values stay as they are."""
    if isinstance(value, dict) and list(value) == ["tuple"]:
        return tuple(_parse_parameter(name, entry) for entry in value["tuple"])
    if isinstance(value, list):
        return [_parse_parameter(name, entry) for entry in value]
    if name in FAMILIES and isinstance(value, dict) and "kind" in value:
        return FAMILIES[name].parse(value)
    return value
