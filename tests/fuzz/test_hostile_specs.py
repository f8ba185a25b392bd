"""Specs from anywhere: nothing in them is run, limits hold, and errors are short."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

import momentlp as mlp


@pytest.mark.parametrize(
    "tag", ["python/object/apply:pathlib.Path.touch", "python/object/apply:os.system", "python/name:os.system"]
)
def test_python_tags_in_yaml_are_never_run(tmp_path: Path, tag: str) -> None:
    marker = tmp_path / "ran"
    argument = f"touch {marker}" if "system" in tag else f"!!python/object/apply:pathlib.Path ['{marker}']"
    for text in (f"!!{tag} [{argument!r}]", f"features: !!{tag} [{argument}]", f"? !!{tag} [{argument}]\n: 1"):
        with pytest.raises(mlp.SpecError):
            mlp.Spec.from_yaml(text)
    assert not marker.exists()


LAUGHS = "a: &a [x, x]\n" + "".join(f"{b}: &{b} [*{a}, *{a}, *{a}, *{a}]\n" for a, b in pairwise("abcdefghijklmnopq"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LAUGHS, r"aliases are not read: repeat the value \(line 2\)"),
        ("a: &a [*a]", "aliases are not read"),
        ("a: *b", r"alias \*b, but aliases are not read"),
        ("[" * 100_000, "nested"),
        ("a: " * 1000, "not valid YAML"),
        ("- " * 100_000, "nested"),
        ("? " * 10_000, "nested"),
        ("version: 1\nversion: 1", r"'version' occurs twice \(line 2\)"),
        (f"version: {'1' * 100_000}", "more than 400 digits"),
        (f"version: 0x{'f' * 100_000}", "more than 400 digits"),
        (f"version: 1{':59' * 100_000}", "more than 400 digits"),
        ("version: !!int abc", "'abc' is not of type int"),
        ("version: !!int ''", "'' is not of type int"),
        ("version: !!bool 7", "'7' is not of type bool"),
        ("version: .nan", "version nan"),
        ("version: 2001-99-99", "version '2001-99-99'"),
        ("version: !!timestamp 2001-01-01", "version '2001-01-01'"),
        ("version: !!binary aGk=", "values of type 'binary'"),
        ("!!set {version}", "values of type .*set"),
        ("!!omap [version: 1]", "values of type .*omap"),
        ("<<: {version: 1}", "merge keys"),
        ("? [a]\n: 1", "where a key belongs"),
        ("? {a: b}\n: 1", "where a key belongs"),
        ("a: 1\n---\nb: 2", "found another document"),
        ("a: \0", "not valid YAML"),
        ("a: \ud800", "not valid YAML"),
        ('a: "\\ud800"', "not valid YAML"),
        ("", "holds NoneType"),
        (" " * (33 << 20), "at most 4 MiB"),
    ],
    ids=lambda value: value[:12].strip(),
)
def test_yaml_that_exhausts_other_readers_is_refused(text: str, message: str) -> None:
    with pytest.raises(mlp.SpecError, match=message) as caught:
        mlp.Spec.from_yaml(text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "nested too deep"),
        ('{"a":' * 100 + "1" + "}" * 100, "more than 40 levels"),
        ('{"version": 1, "version": 1}', "'version' occurs twice"),
        (f'{{"version": {"1" * 100_000}}}', "digits"),
        (f'{{"version": {"1" * 1000}}}', "more than 400 digits"),
        ('{"tolerance": {"kind": "absolute", "eps": NaN}}', "must be finite"),
        ('{"tolerance": {"kind": "absolute", "eps": 1e999}}', "must be finite"),
        ('{"tolerance": {"kind": "absolute", "eps": 1e-999, "standardised": "\\ud800"}}', "half a character"),
        ('{"\\ud800": 1}', "half a character"),
        ('{"a\\nb": 1}', r"Spec.'a\\nb'"),
        (json.dumps({"constraints": [{"kind": "known", "positives": ["a" * 100_000] + [""] * 10_000}]}), "is too long"),
        (json.dumps({"constraints": [{"kind": "known", "positives": ["a"] * 1000}]}), "and 992 more"),
        (json.dumps({"tolerance": {"kind": "x" * 10_000}}), r"x\.\.\."),
        ("\0", "not valid JSON"),
        ("\ufeff{}", "not valid JSON"),
        (" " * (33 << 20), "at most 32 MiB"),
    ],
    ids=lambda value: value[:12].strip(),
)
def test_json_that_exhausts_other_readers_is_refused(text: str, message: str) -> None:
    with pytest.raises(mlp.SpecError, match=message) as caught:
        mlp.Spec.from_json(text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1500


def test_plain_yaml_is_read() -> None:
    text = """
    tolerance: &t {kind: absolute, eps: 5e-1, standardised: yes}  # an anchor that nothing refers to
    constraints:
    - {kind: group_share, groups: [2001-01-01, 2002-02-02], low: {2001-01-01: 0.25}, high: {=: 1}}
    - {kind: moment, features: {kind: linear}, target: [0x10, 1_000], name: !!str 12,
       tolerance: {kind: absolute, eps: 5e-1, standardised: yes}}
    """
    with pytest.raises(mlp.SpecError, match="eps: must be a number"):
        mlp.Spec.from_yaml(text)  # YAML takes 5e-1 for text
    spec = mlp.Spec.from_yaml(text.replace("5e-1", "5.0e-1"))
    tolerance = mlp.Absolute(0.5, standardised=True)
    shares = mlp.GroupShare(["2001-01-01", "2002-02-02"], {"2001-01-01": 0.25}, {"=": 1.0})
    assert spec == mlp.Spec(
        tolerance=tolerance, constraints=[shares, mlp.Moment(mlp.Linear(), [16.0, 1000.0], tolerance, name="12")]
    )
    assert mlp.Spec.from_yaml(spec.to_yaml()) == spec


def test_a_spec_in_another_encoding_is_refused(tmp_path: Path) -> None:
    for name in ("spec.json", "spec.yaml"):
        for content in (b"\xff\xfe{\0}\0", b"\x80", b"\xed\xa0\x80"):
            (tmp_path / name).write_bytes(content)
            with pytest.raises(mlp.SpecError, match="cannot read the spec"):
                mlp.Spec.load(tmp_path / name)
    with pytest.raises(mlp.SpecError, match="cannot read the spec"):
        mlp.Spec.load("a\0b.json")


def test_a_spec_cannot_name_a_folder_of_pickles() -> None:
    """joblib would load and run pickles from the cache folder of a transformer."""
    table = {"name": "FeatureAgglomeration", "parameters": {"memory": "cache"}}
    with pytest.raises(mlp.SpecError, match="memory"):
        mlp.Spec.from_json(json.dumps({"features": {"kind": "transformer", "transformer": table}}))


@pytest.mark.parametrize("value", [".nan", ".inf", "-.inf"])
def test_a_parameter_that_json_cannot_hold_is_refused(value: str) -> None:
    """It would be read back as null, which is another transformer."""
    text = f"features: {{kind: transformer, transformer: {{name: PCA, parameters: {{n_components: {value}}}}}}}"
    with pytest.raises(mlp.SpecError, match="n_components of PCA is"):
        mlp.Spec.from_yaml(text)
