"""Declared parts of a spec: validated when built, written under the name of their kind, read back by that name.

A feature map, a tolerance and a constraint are each a *family*; ``linear`` or ``absolute`` is a *kind* in it. A kind is a
subclass with a ``kind`` field of its own. It is known once its class exists, or, for an installed plugin, once its
package names it as an entry point of the family's group. Reading a spec looks the name up among those and never imports
anything that the file itself names.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from inspect import Parameter, Signature
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from momentlp.errors import SpecError

__all__ = ["Declared", "Kind", "short_repr"]

PLAIN = (str, bytes, int, float, list, tuple, dict, set, frozenset)  # of which reprlib shows the first few entries
LONGEST = 60  # characters of a value that an error shows
MOST_MISTAKES = 8  # that one error lists
MOST_ENTRIES = 10  # of a field that are shown


@dataclass(frozen=True, repr=False)
class _Shown:
    """Stands for a value that is shown in words of our own."""

    words: str

    def __repr__(self) -> str:
        return self.words


ANEW = _Shown("...")  # in a signature: a default that is made anew for every instance


def _fields(cls: type[BaseModel]) -> list[str]:
    """Return the fields that a user gives, in the order in which they may be given without a name."""
    return [name for name in cls.model_fields if name not in ("kind", "version")]


def _signature(cls: type[BaseModel]) -> Signature:
    """Return the signature of the constructor."""
    parameters = [Parameter("self", Parameter.POSITIONAL_ONLY)]
    by_name = optional = False
    for name in _fields(cls):
        field = cls.model_fields[name]
        default: Any = Parameter.empty
        if field.is_required():
            by_name = by_name or optional  # after one that may be left out it needs its name
        else:
            default, optional = field.default if field.default_factory is None else ANEW, True
        kind = Parameter.KEYWORD_ONLY if by_name else Parameter.POSITIONAL_OR_KEYWORD
        parameters.append(Parameter(name, kind, default=default))
    return Signature(parameters)


class Declared(BaseModel):
    """A pydantic model whose mistakes come out as :class:`~momentlp.errors.SpecError`, naming the field."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, defer_build=True)

    def __init__(self, /, *values: Any, **fields: Any) -> None:
        fields |= self._name_positional(values, fields)
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise SpecError(_explain(type(self), error)) from None

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Give the class a constructor that says what it takes, for ``help`` and for whoever completes what is typed."""
        if "__init__" in vars(cls):
            return

        def __init__(self: Any, /, *values: Any, **fields: Any) -> None:  # noqa: N807  it becomes the one of the class
            super(cls, self).__init__(*values, **fields)

        __init__.__qualname__ = f"{cls.__qualname__}.__init__"
        __init__.__signature__ = _signature(cls)  # type: ignore[attr-defined]  # which inspect looks for
        cls.__init__ = __init__  # type: ignore[method-assign]

    @classmethod
    def _name_positional(cls, values: tuple[Any, ...], fields: dict[str, Any]) -> dict[str, Any]:
        names = _fields(cls)
        if len(values) > len(names):
            raise SpecError(f"{cls.__name__} takes at most {len(names)} value(s) ({', '.join(names)}), not {len(values)}.")
        named = dict(zip(names, values, strict=False))
        if twice := named.keys() & fields.keys():
            raise SpecError(f"{cls.__name__} got {min(twice)!r} twice: once by position and once by name.")
        return named

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """Show the first entries of long fields: there may be one per point."""
        for name, value in super().__repr_args__():
            if isinstance(value, tuple) and len(value) > MOST_ENTRIES:
                first = ", ".join(map(repr, value[:MOST_ENTRIES]))
                yield name, _Shown(f"({first}, and {len(value) - MOST_ENTRIES} more)")
            else:
                yield name, value

    def __setattr__(self, name: str, value: Any) -> None:
        raise SpecError(f"{type(self).__name__}.{name} cannot be changed: make a new {type(self).__name__}.")


class Kind(Declared):
    """Base of the families. A family sets ``group``; a kind in it sets the field ``kind``."""

    group: ClassVar[str]
    kind: str

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        """Refuse a second class of the same kind; defining the same class anew, as in a notebook, is fine."""
        super().__pydantic_init_subclass__(**options)
        name = _kind_of(cls)
        family = next((base for base in cls.__mro__ if "group" in vars(base)), None)
        for other in _descendants(family) if name is not None and family is not None else ():
            same = (other.__module__, other.__qualname__) == (cls.__module__, cls.__qualname__)
            if other is not cls and not same and _kind_of(other) == name:
                raise SpecError(f"{cls.__name__} has kind {name!r}, which {other.__name__} has already: choose another.")

    @classmethod
    def parse(cls, value: Any) -> Self:
        """Accept an instance of the family as it is, or build one from ``{"kind": ..., ...}``."""
        if isinstance(value, cls):
            return value
        family = cls.group.rpartition(".")[2]
        if isinstance(value, dict) and isinstance(value.get("kind"), str) and (found := cls.find(value["kind"])) is not None:
            return found(**{str(name): field for name, field in value.items() if name != "kind"})
        known = cls.known()
        if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
            example = next(iter(known.values())).__name__ if known else "..."
            raise SpecError(
                f"expected one of the {family}, such as mlp.{example}(...), or a table with a 'kind', got {short_repr(value)}."
            )
        raise SpecError(
            f"{short_repr(value['kind'])} is not a registered kind of {family}; known: {', '.join(sorted(known))}."
        )

    @classmethod
    def find(cls, name: str) -> type[Self] | None:
        """Return a kind of this family by name; a plugin is loaded only if it is the one asked for."""
        found = [subclass for subclass in _descendants(cls) if _kind_of(subclass) == name]
        if found:
            return found[-1]  # a class that was defined anew: the latest counts
        for point in entry_points(group=cls.group, name=name):
            try:
                return point.load()  # type: ignore[no-any-return]  # what an entry point holds is known only now
            except Exception as error:
                raise SpecError(
                    f"kind {name!r} ({point.value}) cannot be loaded: {type(error).__name__}: {error}."
                ) from error
        return None

    @classmethod
    def known(cls) -> dict[str, type[Self]]:
        """Return every kind of this family by name: classes that exist, then installed plugins."""
        kinds: dict[str, type[Self]] = {}
        for subclass in _descendants(cls):
            if (name := _kind_of(subclass)) is not None:
                kinds[name] = subclass
        for point in entry_points(group=cls.group):
            if point.name not in kinds and (found := cls.find(point.name)) is not None:
                kinds[point.name] = found
        return kinds


def _kind_of(cls: type[BaseModel]) -> str | None:
    """Return the name of a kind, or None for a class between a family and its kinds."""
    default = cls.model_fields["kind"].default if "kind" in cls.model_fields else None
    return default if isinstance(default, str) else None


def _descendants(cls: type[Any]) -> Iterator[type[Any]]:
    for subclass in cls.__subclasses__():
        yield subclass
        yield from _descendants(subclass)


def short_repr(value: Any) -> str:
    """Show a value in an error: on one line, and no longer than a line, however much there is of it."""
    try:
        text = reprlib.repr(value) if isinstance(value, PLAIN) else repr(value)
    except Exception:  # noqa: BLE001  a value of the user's own; an error about it must not end in another one
        text = f"a {type(value).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def _explain(owner: type[BaseModel], error: ValidationError) -> str:
    lines = []
    for problem in error.errors(include_url=False)[:MOST_MISTAKES]:
        where = ".".join(str(part) if isinstance(part, int) else _name(part) for part in problem["loc"])
        message = " ".join(problem["msg"].removeprefix("Value error, ").split())
        got = "" if problem["type"] in ("missing", "value_error") else f" (got {short_repr(problem['input'])})"
        if problem["type"] == "extra_forbidden" and len(problem["loc"]) == 1:
            got += f"; the fields are {', '.join(_fields(owner)) or 'none'}"
        lines.append(f"{owner.__name__}{'.' + where if where else ''}: {message}{got}")
    more = error.error_count() - len(lines)
    return "; ".join(lines) + (f"; and {more} more" if more > 0 else "")


def _name(part: str) -> str:
    return part if part.isprintable() and len(part) <= LONGEST else short_repr(part)
