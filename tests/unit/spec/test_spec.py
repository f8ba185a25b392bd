"""Specs: validated when built, equal after a round trip, and nothing in a file is run."""

from __future__ import annotations

import inspect
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import jsonschema
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.decomposition import PCA

import momentlp as mlp

widths = st.one_of(st.floats(0, 1e12), st.lists(st.floats(0, 1e12), min_size=1, max_size=4))
specs = st.builds(mlp.Spec, tolerance=st.one_of(st.builds(mlp.Absolute, eps=widths), st.builds(mlp.Relative, delta=widths)))


@given(specs)
def test_equal_after_a_round_trip_through_json(spec: mlp.Spec) -> None:
    assert mlp.Spec.from_json(spec.to_json()) == spec


def test_equal_after_a_round_trip_through_a_file(tmp_path: Path) -> None:
    spec = mlp.Spec(features=mlp.Linear(), tolerance=mlp.Relative([0.1, 0.2]))
    spec.save(tmp_path / "spec.json")
    assert mlp.Spec.load(tmp_path / "spec.json") == spec


def test_a_spec_cannot_be_changed() -> None:
    with pytest.raises(mlp.SpecError, match=r"Spec\.tolerance cannot be changed"):
        mlp.Spec().tolerance = mlp.Absolute(1.0)  # type: ignore[misc]


def test_tolerances_of_numpy_become_plain_numbers() -> None:
    assert mlp.Absolute(np.array([1.0, 2.0])).eps == (1.0, 2.0)
    assert mlp.Absolute(np.float32(0.5)) == mlp.Absolute(0.5)
    assert mlp.Absolute(3) == mlp.Absolute(eps=3.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not valid JSON"),
        ("[]", "holds list"),
        ('{"version": 99}', "version 99"),
        ('{"tolerance": {"kind": "absolut", "eps": 1}}', "Spec.tolerance: 'absolut' is not a registered kind"),
        ('{"tolerance": {"kind": "absolute"}}', "Absolute.eps: Field required"),
        ('{"tolerance": {"kind": "absolute", "eps": -1}}', "must be finite and not negative"),
        ('{"tolerance": {"kind": "absolute", "eps": 1, "epsilon": 2}}', "epsilon: Extra inputs"),
        ('{"tolerance": 3}', "expected one of the tolerances"),
        ('{"features": {"kind": "os.system"}}', "not a registered kind of features; known: .*linear"),
        ('{"tolerences": {}}', "Spec.tolerences: Extra inputs"),
        ('{"constraints": [{"kind": "nope"}]}', r"Spec.constraints.0: 'nope' is not a registered kind"),
    ],
)
def test_bad_specs_name_the_field(text: str, message: str) -> None:
    with pytest.raises(mlp.SpecError, match=message):
        mlp.Spec.from_json(text)


def test_the_schema_accepts_what_we_write_and_refuses_what_we_refuse() -> None:
    schema = mlp.Spec.json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    check = jsonschema.Draft202012Validator(schema)
    spec = mlp.Spec(
        features=mlp.Concat([mlp.Linear(), mlp.Kernel(landmarks=5), mlp.Transformer(PCA(2))]),
        tolerance=mlp.StandardError([0.5, 0.6, 0.7]),
        constraints=[mlp.Share(0.1, 0.2), mlp.Moment(mlp.Quadratic(), 0.5, mlp.Absolute(1.0))],
    )
    assert check.is_valid(json.loads(spec.to_json()))
    for wrong in ({"tolerance": {"kind": "nope"}}, {"constraints": [{"kind": "share", "low": 2}]}, {"feature": {}}):
        assert not check.is_valid(wrong)


@pytest.mark.parametrize("text", ["a: [1", "- 1", "!!python/object/apply:os.system ['true']", "tolerance: {kind: nope}"])
def test_bad_yaml_is_refused_and_runs_nothing(text: str) -> None:
    with pytest.raises(mlp.SpecError):
        mlp.Spec.from_yaml(text)


def test_too_many_positional_values_are_refused() -> None:
    with pytest.raises(mlp.SpecError, match=r"at most 3 value\(s\) \(eps, standardised, side\)"):
        mlp.Absolute(1.0, False, "both", 2.0)  # type: ignore[call-arg]


def test_a_missing_spec_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(mlp.SpecError, match="cannot read the spec"):
        mlp.Spec.load(tmp_path / "none.json")


def test_the_three_ways_to_name_a_class_agree() -> None:
    X = np.random.default_rng(0).normal(size=(40, 3))
    spec, known = mlp.Spec(tolerance=mlp.Absolute(1.0)), [3, 5, 8]
    problems = [
        spec.compile(X, labelled=known),
        spec.compile(X, sample=X[known]),
        spec.compile(X, mean=X[known].mean(axis=0)),
    ]
    matrices = [problem.A.toarray() for problem in problems]
    assert np.array_equal(matrices[0], matrices[1])
    assert np.allclose(matrices[0], matrices[2], rtol=0, atol=1e-15)  # compile computes the mean more accurately than numpy


def test_column_names_become_moment_names() -> None:
    frame = pd.DataFrame({"width": [0.0, 1.0], "height": [1.0, 0.0]})
    assert mlp.Spec().compile(frame, labelled=[0]).names == ("width", "height")
    relative = mlp.Spec(tolerance=mlp.Relative([0.1, 0.0])).compile(frame, labelled=[0])
    assert relative.names == ("width:high", "height", "width:low")


@pytest.mark.parametrize("sparse", [False, True])
def test_relative_bounds_the_mean_at_every_size_of_the_class(sparse: bool) -> None:
    X = np.random.default_rng(2).normal(size=(200, 3))
    delta = np.array([0.2, 0.0, 0.4])
    alpha = np.array([0.1, 0.2, -0.3])
    problem = mlp.Spec(tolerance=mlp.Relative(delta)).compile(sp.csr_array(X) if sparse else X, mean=alpha)
    h = mlp.solve(problem).membership
    assert (np.abs(h @ X / h.sum() - alpha) <= delta + 1e-9).all()


class Half(mlp.Constraint):
    """A user-defined constraint: at most half of the points."""

    kind: Literal["test-half"] = "test-half"
    share: float = 0.5

    def apply(self, problem: mlp.Problem, data: mlp.Data) -> mlp.Problem:
        n = problem.n_points
        block = mlp.MomentBlock(
            features=sp.csr_array((n, 1)),
            origin=np.zeros(1),
            transform=None,
            shift=np.ones(1),
            lower=np.array([-np.inf]),
            upper=np.array([self.share * n]),
            names=("half",),
        )
        return problem.with_block(block)


class Squares(mlp.FeatureMap):
    """A user-defined feature map: each column and its square."""

    kind: Literal["test-squares"] = "test-squares"

    def learn(self, X: Any, inputs: tuple[str, ...]) -> Any:
        return (*inputs, *(f"{name}^2" for name in inputs)), {"width": np.array(X.shape[1])}

    def transform(self, X: Any, fitted: mlp.FittedMap) -> Any:
        return np.hstack([X, X**2])


def test_user_defined_kinds_work_like_built_in_ones(backend: str, tmp_path: Path) -> None:
    X = np.random.default_rng(4).normal(size=(100, 2))
    spec = mlp.Spec(features=Squares(), tolerance=mlp.Absolute(5.0), constraints=[Half(share=0.1)])
    assert mlp.Spec.from_json(spec.to_json()) == spec
    assert json.loads(spec.to_json())["constraints"] == [{"kind": "test-half", "share": 0.1}]
    problem = spec.compile(X, labelled=range(10))
    assert problem.names == ("x0", "x1", "x0^2", "x1^2", "half")
    solution = mlp.solve(problem, backend)
    assert solution.objective == pytest.approx(10.0)
    assert solution.certificate.holds()
    problem.save(tmp_path / "problem.npz")
    fitted = mlp.Problem.load(tmp_path / "problem.npz").blocks[0].fitted
    assert fitted is not None
    assert fitted.declared == Squares()
    assert np.array_equal(fitted.state["width"], 2)
    assert np.array_equal(fitted(X), Squares().transform(X, fitted))


def test_caps_can_be_lowered_by_a_constraint() -> None:
    problem = mlp.Spec(tolerance=mlp.Absolute(100.0)).compile([[0.0], [1.0]], labelled=[0])
    assert mlp.solve(replace(problem, caps=np.array([1.0, 0.0]))).objective == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("kind", "signature"),
    [
        (mlp.Share, "(low=0.0, high=1.0)"),
        (mlp.Known, "(positives=(), negatives=(), n_points=None)"),
        (mlp.GroupShare, "(groups, low=..., high=...)"),
        (mlp.Moment, "(features, target, tolerance, name='moment')"),
        (mlp.Kernel, "(kernel='rbf', gamma=None, degree=3.0, coef0=1.0, landmarks=None, random_state=0)"),
        (mlp.StandardError, "(z, side='both')"),
        (mlp.Spec, "(features=..., tolerance=..., constraints=(), whole=False)"),
    ],
)
def test_the_signature_of_a_kind_lists_its_fields(kind: Any, signature: str) -> None:
    assert str(inspect.signature(kind)).removesuffix(" -> None") == signature
    assert "Parameters\n" in inspect.getdoc(kind)
    for name in inspect.signature(kind).parameters:
        assert name in inspect.getdoc(kind)


def test_the_signature_is_the_same_after_the_class_was_used() -> None:
    """Pydantic sets a signature of its own when it builds the class, at the first use."""
    before = inspect.signature(mlp.Share)
    mlp.Share(0.1)
    assert inspect.signature(mlp.Share).parameters == before.parameters


def test_a_kind_whose_later_field_is_required_takes_it_by_name() -> None:
    class Odd(mlp.Tolerance):
        kind: Literal["odd for this test"] = "odd for this test"
        wide: float = 1.0
        needed: float

        def block(self, target: Any) -> Any:
            raise NotImplementedError

    assert str(inspect.signature(Odd)).removesuffix(" -> None") == "(wide=1.0, *, needed)"
    assert Odd(2.0, needed=3.0).wide == 2.0


def test_an_unknown_field_is_refused_with_the_known_ones() -> None:
    with pytest.raises(mlp.SpecError, match=r"Share.lo: .*\(got 0.1\); the fields are low, high"):
        mlp.Share(lo=0.1)


def test_long_fields_are_shown_by_their_first_entries() -> None:
    few, many = mlp.Known(positives=range(10)), mlp.Known(positives=range(300))
    assert repr(few) == "Known(kind='known', positives=(0, 1, 2, 3, 4, 5, 6, 7, 8, 9), negatives=(), n_points=None)"
    assert (
        repr(many)
        == "Known(kind='known', positives=(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, and 290 more), negatives=(), n_points=None)"
    )
    assert len(repr(mlp.GroupShare(["a", "b"] * 500, low={"a": 0.1}))) < 150
    assert len(many.model_dump()["positives"]) == 300
