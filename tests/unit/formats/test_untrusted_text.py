"""Plain values from YAML: with and without PyYAML's parser in C, aliases are refused, and never written."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import momentlp as mlp
from momentlp.formats import untrusted_text
from momentlp.formats.untrusted_text import format_yaml, parse_json, parse_yaml

yaml = pytest.importorskip("yaml")


@pytest.fixture(params=["parser in C", "parser in Python"], autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if request.param == "parser in Python":
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    untrusted_text._plain_loader.cache_clear()
    yield
    untrusted_text._plain_loader.cache_clear()


def test_plain_values_are_read() -> None:
    text = "a: [1, 2.5, yes, null, text]\nb: {c: 2001-01-01, '1': !!str 12}\n"
    assert parse_yaml(text) == {"a": [1, 2.5, True, None, "text"], "b": {"c": "2001-01-01", "1": "12"}}
    assert parse_yaml("") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &x [1]\nb: *x", r"alias \*x, but aliases are not read: repeat the value \(line 2\)"),
        ("a: 1\nb: 2\na: 3", r"key 'a' occurs twice \(line 3\)"),
        ("a: 1\n1: 2\ntrue: 3", r"key 'True' occurs twice \(line 3\)"),
        ("a: 1\n<<: {b: 2}", r"merge keys.*\(line 2\)"),
        ("a:\n  - !!python/name:os.system x", r"values of type 'python/name:os.system'.*\(line 2\)"),
        ("a: 1\n---\nb: 2", r"but found another document \(line 2\)"),
        ("a: 1\nb: ]", r"\(line 2\)"),
        ("x: " + "[" * 100, r"nested more than 40 levels deep \(line 1\)"),
        (f"a: 1\nb: {'9' * 500}", r"more than 400 digits \(line 2\)"),
        ("!!str {=: 5}", r"where a string or number belongs \(line 1\)"),
        ("!!map text", r"where a table belongs \(line 1\)"),
        ("!!seq {a: 1}", r"\(line 1\)"),
    ],
)
def test_everything_else_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(mlp.FileFormatError, match=message):
        parse_yaml(text)


def test_forty_levels_are_read_and_forty_one_are_not() -> None:
    value = parse_yaml("[" * 40 + "]" * 40)
    assert parse_json("[" * 40 + "]" * 40) == value
    for read in (parse_yaml, parse_json):
        with pytest.raises(mlp.FileFormatError, match="more than 40 levels deep"):
            read("[" * 41 + "]" * 41)


def test_values_that_occur_twice_are_written_out() -> None:
    shared = {"low": [1, 2]}
    text = format_yaml({"first": shared, "second": shared})
    assert "&" not in text
    assert "*" not in text
    assert parse_yaml(text) == {"first": shared, "second": shared}


def test_a_spec_with_the_same_object_twice_is_written_without_alias() -> None:
    from sklearn.preprocessing import MinMaxScaler

    known = mlp.Known(positives=[0, 1], negatives=[2])
    scaled = mlp.Transformer(MinMaxScaler(feature_range=[0, 2]))
    spec = mlp.Spec(features=mlp.Concat([scaled, scaled]), constraints=[known, known])
    text = spec.to_yaml()
    assert "&" not in text
    assert mlp.Spec.from_yaml(text).constraints == (known, known)
