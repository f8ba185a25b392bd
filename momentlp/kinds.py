"""Declared parts of a spec: validated when built, written under the name of their kind, read back by that name.

A feature map, a tolerance and a constraint are each a *family*; ``linear`` or ``absolute`` is a *kind* in it. A kind is a
subclass with a ``kind`` field of its own. It is known once its class exists, or, for an installed plugin, once its
package names it as an entry point of the family's group. Reading a spec looks the name up among those and never imports
anything that the file itself names.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from momentlp.errors import SpecError

__all__ = ["Declared", "Kind"]


class Declared(BaseModel):
    """A pydantic model whose mistakes come out as :class:`~momentlp.errors.SpecError`, naming the field."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    def __init__(self, *values: Any, **fields: Any) -> None:
        fields |= self._name_positional(values, fields)
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise SpecError(_explain(type(self).__name__, error)) from None

    @classmethod
    def _name_positional(cls, values: tuple[Any, ...], fields: dict[str, Any]) -> dict[str, Any]:
        names = [name for name in cls.model_fields if name not in ("kind", "version")]
        if len(values) > len(names):
            raise SpecError(f"{cls.__name__} takes at most {len(names)} value(s) ({', '.join(names)}), not {len(values)}.")
        named = dict(zip(names, values, strict=False))
        if twice := named.keys() & fields.keys():
            raise SpecError(f"{cls.__name__} got {min(twice)!r} twice: once by position and once by name.")
        return named


class Kind(Declared):
    """Base of the families. A family sets ``group``; a kind in it sets the field ``kind``."""

    group: ClassVar[str]
    kind: str

    @classmethod
    def parse(cls, value: Any) -> Self:
        """Accept an instance of the family as it is, or build one from ``{"kind": ..., ...}``."""
        if isinstance(value, cls):
            return value
        family = cls.group.rpartition(".")[2]
        if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
            raise SpecError(f"expected one of the {family} or a table with a 'kind', got {value!r}.")
        known = cls.known()
        if value["kind"] not in known:
            raise SpecError(f"{value['kind']!r} is not a registered kind of {family}; known: {', '.join(sorted(known))}.")
        return known[value["kind"]](**{name: field for name, field in value.items() if name != "kind"})

    @classmethod
    def known(cls) -> dict[str, type[Self]]:
        """Return every kind of this family by name: classes that exist, then installed plugins."""
        kinds: dict[str, type[Self]] = {}
        for subclass in _descendants(cls):
            if "kind" in subclass.model_fields and isinstance(name := subclass.model_fields["kind"].default, str):
                kinds[name] = subclass
        for point in entry_points(group=cls.group):
            if point.name not in kinds:
                kinds[point.name] = point.load()
        return kinds


def _descendants(cls: type[Any]) -> Iterator[type[Any]]:
    for subclass in cls.__subclasses__():
        yield subclass
        yield from _descendants(subclass)


def _explain(owner: str, error: ValidationError) -> str:
    lines = []
    for problem in error.errors(include_url=False):
        where = ".".join(str(part) for part in problem["loc"])
        message = problem["msg"].removeprefix("Value error, ")
        got = "" if problem["type"] in ("missing", "value_error") else f" (got {problem['input']!r})"
        lines.append(f"{owner}{'.' + where if where else ''}: {message}{got}")
    return "; ".join(lines)
