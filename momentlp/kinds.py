"""Parts of a spec: validated when they are built, and written to a file under the name of their kind.

Feature maps, tolerances and constraints are each a *family*; ``linear`` or ``absolute`` is a *kind* in a family. A kind is a
subclass with its own ``kind`` field. It is known once its class exists; the kind of an installed plugin is known if its
package declares an entry point in the group of the family. Reading a spec looks the name up among these, and never imports
what the file names.
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

PLAIN_TYPES = (str, bytes, int, float, list, tuple, dict, set, frozenset)  # reprlib shows their first entries
MAX_SHOWN = 60  # characters of a value in a message
MAX_MISTAKES = 8  # listed in one message
MAX_ENTRIES = 10  # of a field, shown in its repr


@dataclass(frozen=True, repr=False)
class _ReprText:
    """An object with a given repr, in place of a value."""

    text: str

    def __repr__(self) -> str:
        return self.text


FACTORY_DEFAULT = _ReprText("...")  # in a signature: a default that a factory makes for every instance


def _field_names(cls: type[BaseModel]) -> list[str]:
    """Return the fields that a user gives, in the order of positional arguments."""
    return [name for name in cls.model_fields if name not in ("kind", "version")]


def _build_signature(cls: type[BaseModel]) -> Signature:
    """Return the signature of the constructor."""
    parameters = [Parameter("self", Parameter.POSITIONAL_ONLY)]
    by_name = optional = False
    for name in _field_names(cls):
        field = cls.model_fields[name]
        default: Any = Parameter.empty
        if field.is_required():
            by_name = by_name or optional  # a required field after an optional one must be given by name
        else:
            default, optional = field.default if field.default_factory is None else FACTORY_DEFAULT, True
        kind = Parameter.KEYWORD_ONLY if by_name else Parameter.POSITIONAL_OR_KEYWORD
        parameters.append(Parameter(name, kind, default=default))
    return Signature(parameters)


class Declared(BaseModel):
    """A pydantic model that raises :class:`~momentlp.errors.SpecError`, with the name of the field, for a wrong value."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, defer_build=True)

    def __init__(self, /, *values: Any, **fields: Any) -> None:
        fields |= self._name_positional(values, fields)
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise SpecError(_format_mistakes(type(self), error)) from None

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Give the class a constructor with a signature, for ``help`` and for completion in editors."""
        if "__init__" in vars(cls):
            return

        def __init__(self: Any, /, *values: Any, **fields: Any) -> None:  # noqa: N807  it becomes the constructor of the class
            super(cls, self).__init__(*values, **fields)

        __init__.__qualname__ = f"{cls.__qualname__}.__init__"
        __init__.__signature__ = _build_signature(cls)  # type: ignore[attr-defined]  # inspect reads it
        cls.__init__ = __init__  # type: ignore[method-assign]

    @classmethod
    def _name_positional(cls, values: tuple[Any, ...], fields: dict[str, Any]) -> dict[str, Any]:
        names = _field_names(cls)
        if len(values) > len(names):
            raise SpecError(f"{cls.__name__} takes at most {len(names)} value(s) ({', '.join(names)}), not {len(values)}.")
        named = dict(zip(names, values, strict=False))
        if twice := named.keys() & fields.keys():
            raise SpecError(f"{cls.__name__} got {min(twice)!r} twice: once by position and once by name.")
        return named

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """Show only the first entries of a long field: it may have one per point."""
        for name, value in super().__repr_args__():
            if isinstance(value, tuple) and len(value) > MAX_ENTRIES:
                first = ", ".join(map(repr, value[:MAX_ENTRIES]))
                yield name, _ReprText(f"({first}, and {len(value) - MAX_ENTRIES} more)")
            else:
                yield name, value

    def __setattr__(self, name: str, value: Any) -> None:
        raise SpecError(f"{type(self).__name__}.{name} cannot be changed: make a new {type(self).__name__}.")


class Kind(Declared):
    """Base of all families.

    A family sets ``group``, the group of its entry points. A kind in the family sets the field ``kind``.
    """

    group: ClassVar[str]
    kind: str

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        """Refuse a second class of the same kind. The same class may be defined again, as in a notebook."""
        super().__pydantic_init_subclass__(**options)
        name = _kind_of(cls)
        family = next((base for base in cls.__mro__ if "group" in vars(base)), None)
        for other in _all_subclasses(family) if name is not None and family is not None else ():
            same = (other.__module__, other.__qualname__) == (cls.__module__, cls.__qualname__)
            if other is not cls and not same and _kind_of(other) == name:
                raise SpecError(f"{cls.__name__} has kind {name!r}, which {other.__name__} has already: choose another.")

    @classmethod
    def parse(cls, value: Any) -> Self:
        """Return an instance of the family as it is, or build one from a table ``{"kind": ..., ...}``.

        Parameters
        ----------
        value : Kind or dict
            An instance of the family, or the fields of one as a spec file holds them.

        Returns
        -------
        Kind
            An instance of this family.

        Raises
        ------
        SpecError
            If the value is neither, the kind is not known, or a field is wrong.

        Examples
        --------
        >>> import momentlp as mlp
        >>> mlp.Tolerance.parse({"kind": "absolute", "eps": 2.0})
        Absolute(kind='absolute', eps=2.0, standardised=False, side='both')
        """
        if isinstance(value, cls):
            return value
        family = cls.group.rpartition(".")[2]
        if isinstance(value, dict) and isinstance(value.get("kind"), str) and (found := cls.find(value["kind"])) is not None:
            return found(**{str(name): field for name, field in value.items() if name != "kind"})
        known = cls.known()
        if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
            example = next(iter(known.values())).__name__ if known else "..."
            raise SpecError(
                f"expected one of the {family}, such as mlp.{example}(...), or a table with a 'kind', "
                f"got {short_repr(value)}."
            )
        raise SpecError(
            f"{short_repr(value['kind'])} is not a registered kind of {family}; known: {', '.join(sorted(known))}."
        )

    @classmethod
    def find(cls, name: str) -> type[Self] | None:
        """Return the class of the kind ``name`` of this family, or None. A plugin is loaded only if its kind is asked for.

        Raises
        ------
        SpecError
            If the plugin cannot be loaded.

        Examples
        --------
        >>> import momentlp as mlp
        >>> mlp.Tolerance.find("absolute").__name__, mlp.Tolerance.find("linear")
        ('Absolute', None)
        """
        found = [subclass for subclass in _all_subclasses(cls) if _kind_of(subclass) == name]
        if found:
            return found[-1]  # of a class that was defined again, the latest counts
        for point in entry_points(group=cls.group, name=name):
            try:
                return point.load()  # type: ignore[no-any-return]  # the type of an entry point is known only when it is loaded
            except Exception as error:
                raise SpecError(
                    f"kind {name!r} ({point.value}) cannot be loaded: {type(error).__name__}: {error}."
                ) from error
        return None

    @classmethod
    def known(cls) -> dict[str, type[Self]]:
        """Return every kind of this family by name: existing classes, and installed plugins, which are loaded."""
        kinds: dict[str, type[Self]] = {}
        for subclass in _all_subclasses(cls):
            if (name := _kind_of(subclass)) is not None:
                kinds[name] = subclass
        for point in entry_points(group=cls.group):
            if point.name not in kinds and (found := cls.find(point.name)) is not None:
                kinds[point.name] = found
        return kinds


def _kind_of(cls: type[BaseModel]) -> str | None:
    """Return the name of a kind, or None for a base class of kinds."""
    default = cls.model_fields["kind"].default if "kind" in cls.model_fields else None
    return default if isinstance(default, str) else None


def _all_subclasses(cls: type[Any]) -> Iterator[type[Any]]:
    for subclass in cls.__subclasses__():
        yield subclass
        yield from _all_subclasses(subclass)


def short_repr(value: Any) -> str:
    """Return the repr of a value for a message: one line of limited length."""
    try:
        text = reprlib.repr(value) if isinstance(value, PLAIN_TYPES) else repr(value)
    except Exception:  # noqa: BLE001  the repr of a user's class may raise anything
        text = f"a {type(value).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def _format_mistakes(owner: type[BaseModel], error: ValidationError) -> str:
    lines = []
    for mistake in error.errors(include_url=False)[:MAX_MISTAKES]:
        where = ".".join(str(part) if isinstance(part, int) else _format_key(part) for part in mistake["loc"])
        message = " ".join(mistake["msg"].removeprefix("Value error, ").split())
        got = "" if mistake["type"] in ("missing", "value_error") else f" (got {short_repr(mistake['input'])})"
        if mistake["type"] == "extra_forbidden" and len(mistake["loc"]) == 1:
            got += f"; the fields are {', '.join(_field_names(owner)) or 'none'}"
        lines.append(f"{owner.__name__}{'.' + where if where else ''}: {message}{got}")
    more = error.error_count() - len(lines)
    return "; ".join(lines) + (f"; and {more} more" if more > 0 else "")


def _format_key(part: str) -> str:
    return part if part.isprintable() and len(part) <= MAX_SHOWN else short_repr(part)
