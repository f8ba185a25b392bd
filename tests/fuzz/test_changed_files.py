"""A file with any bytes or values is either read or refused with an error of momentlp."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import momentlp as mlp
from fuzz.targets import TARGETS, Target

words = st.sampled_from(
    ["kind", "maps", "eps", "delta", "z", "low", "high", "groups", "features", "linear", "concat", "share", ""]
)


values = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), words)


kinds = st.sampled_from(
    ["linear", "quadratic", "kernel", "concat", "absolute", "relative", "share", "known", "group_share", "moment"]
)


fields = st.sampled_from(
    [
        "eps",
        "delta",
        "standardised",
        "standardise",
        "maps",
        "low",
        "high",
        "positives",
        "negatives",
        "groups",
        "features",
        "target",
        "tolerance",
        "kernel",
        "gamma",
        "landmarks",
        "degree",
        "name",
    ]
)


trees = st.recursive(
    values,
    lambda inside: st.one_of(
        st.lists(inside, max_size=4),
        st.dictionaries(st.one_of(words, st.text(max_size=3)), inside, max_size=4),
        st.builds(lambda kind, rest: {"kind": kind, **rest}, kinds, st.dictionaries(fields, inside, max_size=4)),
    ),
    max_leaves=12,
)


specs = st.dictionaries(st.sampled_from(["version", "features", "tolerance", "constraints", "other"]), trees, max_size=4)


def test_valid_files_are_accepted() -> None:
    for name in ("spec_json", "spec_yaml", "problem_file", "data_npy", "data_npz"):
        assert all(TARGETS[name].check(seed) for seed in TARGETS[name].seeds()), name
    for name in ("data_csv", "data_parquet"):
        assert TARGETS[name].check(TARGETS[name].seeds()[0]), name


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@given(st.sampled_from([b"", b"PK\x03\x04", b"\x93NUMPY\x01\x00", b"PAR1", b"{", b"a: "]), st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(target: Target, start: bytes, content: bytes) -> None:
    target.check(start + content)


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@given(st.integers(0, 2**64 - 1))
def test_changed_files_are_read_or_refused(target: Target, seed: int) -> None:
    random = Random(seed)
    content = random.choice(target.seeds())
    for _ in range(random.choice((1, 1, 2, 4))):
        content = target.mutate(content, random)
    target.check(content)


@given(specs)
def test_any_fields_make_a_spec_or_a_spec_error(tree: Any) -> None:
    content = json.dumps(tree).encode()
    TARGETS["spec_json"].check(content)
    TARGETS["spec_yaml"].check(content)  # most JSON is YAML


@given(specs)
def test_yaml_and_json_give_the_same_spec(tree: Any) -> None:
    def answer(read: Any, text: str) -> Any:
        try:
            return read(text).to_json()
        except mlp.SpecError:
            return None

    yaml = pytest.importorskip("yaml")
    assert answer(mlp.Spec.from_yaml, yaml.safe_dump(tree)) == answer(mlp.Spec.from_json, json.dumps(tree))
