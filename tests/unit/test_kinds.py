"""Kinds are found by name: classes that exist, and plugins by their entry point."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import Any, ClassVar

import pytest

import momentlp as mlp
from momentlp import kinds
from momentlp.kinds import Declared, Kind, short_repr


class Shape(Kind):
    """A family for these tests."""

    group: ClassVar[str] = "momentlp.test-shapes"


class Square(Shape):
    kind: str = "square"
    side: float = 1.0
    colours: tuple[str, ...] = ()


class Round(Shape):
    """A base class of kinds, not a kind itself."""


class Circle(Round):
    kind: str = "circle"
    radius: float


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> list[EntryPoint]:
    found: list[EntryPoint] = []

    def entry_points(group: str, name: str | None = None) -> list[EntryPoint]:
        return [point for point in found if point.group == group and name in (None, point.name)]

    monkeypatch.setattr(kinds, "entry_points", entry_points)
    return found


def test_a_kind_is_known_once_its_class_exists() -> None:
    assert Shape.known() == {"square": Square, "circle": Circle}
    assert Shape.find("circle") is Circle
    assert Shape.find("hexagon") is None


def test_a_table_with_a_kind_is_built_and_an_instance_stays() -> None:
    built = Shape.parse({"kind": "circle", "radius": 2})
    assert built == Circle(2.0)
    assert Shape.parse(built) is built
    assert Shape.parse(built.model_dump(mode="json")) == built


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("square", r"expected one of the test-shapes, such as mlp.Square\(...\), or a table with a 'kind', got 'square'"),
        ({"side": 1}, "or a table with a 'kind'"),
        ({"kind": 3}, "or a table with a 'kind'"),
        ({"kind": "hexagon"}, "'hexagon' is not a registered kind of test-shapes; known: circle, square"),
        ({"kind": "circle"}, "Circle.radius: Field required"),
        ({"kind": "square", "side": "long"}, r"Square.side: .* \(got 'long'\)"),
        ({"kind": "square", "size": 1}, "Square.size: .*the fields are side, colours"),
        ({"kind": "circle", "radius": 1, "a\nb": 2}, r"Circle.'a\\nb'"),
    ],
)
def test_a_mistake_is_named(value: Any, message: str) -> None:
    with pytest.raises(mlp.SpecError, match=message):
        Shape.parse(value)


def test_a_second_class_of_the_same_kind_is_refused() -> None:
    with pytest.raises(mlp.SpecError, match="Copy has kind 'square', which Square has already: choose another"):

        class Copy(Shape):
            kind: str = "square"


def test_a_class_may_be_defined_again() -> None:
    def define(default: float) -> type[Kind]:
        class Cell(Shape):
            kind: str = "cell"
            size: float = default

        return Cell

    try:
        first, second = define(1.0), define(2.0)
        assert first is not second
        assert Shape.find("cell") is second
    finally:
        del first, second
        import gc

        gc.collect()


def test_a_plugin_is_loaded_only_when_its_kind_is_asked_for(plugins: list[EntryPoint]) -> None:
    plugins.append(EntryPoint("other", "momentlp_no_such_package:Other", Shape.group))
    assert Shape.find("square") is Square
    assert Shape.find("nothing") is None
    with pytest.raises(mlp.SpecError, match=r"kind 'other' \(momentlp_no_such_package:Other\) cannot be loaded: Module"):
        Shape.find("other")


def test_a_plugin_is_a_kind_like_others(plugins: list[EntryPoint]) -> None:
    plugins.append(EntryPoint("ring", f"{__name__}:Circle", Shape.group))
    plugins.append(EntryPoint("ring", f"{__name__}:Square", "momentlp.another-group"))
    assert Shape.find("ring") is Circle
    assert Shape.known()["ring"] is Circle


def test_fields_are_given_by_position_or_by_name() -> None:
    assert Square(2.0, colours=("red",)) == Square(side=2.0, colours=["red"])
    with pytest.raises(mlp.SpecError, match=r"Square takes at most 2 value\(s\) \(side, colours\), not 3"):
        Square(1, 2, 3)
    with pytest.raises(mlp.SpecError, match="Square got 'side' twice: once by position and once by name"):
        Square(1, side=1)
    with pytest.raises(mlp.SpecError, match=r"Square.side cannot be changed: make a new Square"):
        Square().side = 3.0


def test_many_mistakes_are_counted_and_not_all_listed() -> None:
    class Many(Declared):
        values: tuple[int, ...]

    with pytest.raises(mlp.SpecError, match=r"; and 12 more$"):
        Many(values=["x"] * 20)


def test_a_long_field_is_shown_by_its_first_entries() -> None:
    assert repr(Square(colours=["c"] * 12)).endswith("'c', and 2 more))")


def test_a_value_in_a_message_is_one_short_line() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError

    assert short_repr("a\nb") == "'a\\nb'"
    assert short_repr(Broken()) == "a Broken"
    assert len(short_repr(["x" * 1000] * 1000)) < 70
