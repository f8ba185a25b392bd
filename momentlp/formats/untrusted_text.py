"""Plain values from JSON and YAML that come from outside: nothing in them is run, and none of them is without end."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from momentlp.errors import ExtraMissingError, FileFormatError
from momentlp.formats.read_errors import short_reason

__all__ = ["LONGEST_TEXT", "LONGEST_YAML", "parse_json", "parse_yaml", "require_yaml"]

LONGEST_TEXT = 32 << 20  # bytes: a million labelled points fit
LONGEST_YAML = 4 << 20  # which is read far more slowly than JSON
DEEPEST = 40  # levels; a spec has a handful
LONGEST_NUMBER = 400  # digits; the largest float has 309
MOST_ALIASED = 100_000  # values that aliases of YAML may stand for
MOST_LETTERS = 1 << 28  # of a list of texts, if all were as long as the longest: numpy keeps them so
SURROGATE = re.compile("[\ud800-\udfff]")


def parse_json(text: str | bytes, *, names_only: bool = False) -> Any:
    """Read plain tables, lists and values from JSON. A table that has a key twice is refused, not guessed at.

    With ``names_only``, texts are names that nobody computes with, and may be any.
    """
    try:
        value = json.loads(text, object_pairs_hook=_table)
    except FileFormatError:
        raise
    except RecursionError:
        raise FileFormatError("it is nested too deep") from None
    except ValueError as error:
        raise FileFormatError(short_reason(error)) from None
    _check_plain(value, names_only)
    return value


def parse_yaml(text: str) -> Any:
    """Read plain tables, lists and values from YAML: what JSON can hold, and aliases within reason.

    The values are put together from the parser's events, one after the other: text nested without end, aliases of aliases
    and tags that build objects stop at the event that goes too far. A date stays the text it is.
    """
    yaml = require_yaml()
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # of which only the parser is used, not what builds values
        value = _YamlTree(yaml).build(yaml.parse(text, Loader=loader))
    except FileFormatError:
        raise
    except (yaml.YAMLError, ValueError, ArithmeticError, RecursionError) as error:
        raise FileFormatError(short_reason(error)) from None
    _check_plain(value)
    return value


def require_yaml() -> Any:
    """Return PyYAML, or say how to install it."""
    try:
        import yaml
    except ImportError:
        raise ExtraMissingError("specs in YAML need PyYAML: run pip install 'momentlp[yaml]', or use JSON.") from None
    return yaml


class _YamlTree:
    """Plain values from the events of a YAML parser."""

    def __init__(self, yaml: Any) -> None:
        self.yaml = yaml
        self.resolver, self.constructor = yaml.resolver.Resolver(), yaml.constructor.SafeConstructor()
        self.anchors: dict[str, tuple[Any, int]] = {}  # each value, and how many it holds
        self.aliased = 0

    def build(self, events: Iterable[Any]) -> Any:
        """Return the one value of a document; None for an empty one."""
        yaml = self.yaml
        done: list[tuple[Any, int]] = []
        stack: list[tuple[Any, list[tuple[Any, int]]]] = [(None, done)]  # each open event, and the values inside it
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent) and done:
                raise FileFormatError("it holds more than one document")
            if isinstance(event, yaml.AliasEvent):
                stack[-1][1].append(self._alias(event))
            elif isinstance(event, yaml.ScalarEvent):
                stack[-1][1].append(self._keep(event, self._scalar(event), 1))
            elif isinstance(event, (yaml.SequenceStartEvent, yaml.MappingStartEvent)):
                _check_depth(len(stack))
                self._check_tag(event)
                stack.append((event, []))
            elif isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
                start, inside = stack.pop()
                values = [value for value, _ in inside]
                whole = values if isinstance(start, yaml.SequenceStartEvent) else self._mapping(values, event)
                stack[-1][1].append(self._keep(start, whole, 1 + sum(size for _, size in inside)))
        return done[0][0] if done else None

    def _keep(self, event: Any, value: Any, size: int) -> tuple[Any, int]:
        if event.anchor is not None:
            self.anchors[event.anchor] = value, size
        return value, size

    def _alias(self, event: Any) -> tuple[Any, int]:
        if event.anchor not in self.anchors:
            raise FileFormatError(f"alias *{event.anchor} has nothing to stand for {_line(event)}")
        value, size = self.anchors[event.anchor]
        self.aliased += size
        if self.aliased > MOST_ALIASED:
            raise FileFormatError(f"its aliases stand for more than {MOST_ALIASED} values {_line(event)}")
        return value, size

    def _scalar(self, event: Any) -> Any:
        kind, text = event.tag, event.value
        if kind in (None, "!"):
            kind = self.resolver.resolve(self.yaml.ScalarNode, text, event.implicit)
        kind = kind.removeprefix("tag:yaml.org,2002:")
        if kind in ("str", "timestamp", "value"):
            return text
        if kind not in ("null", "bool", "int", "float"):
            what = "merge keys (<<)" if kind == "merge" else f"values of type {kind[:60]!r}"
            raise FileFormatError(f"it holds {what}, which are not read here {_line(event)}")
        if len(text) > LONGEST_NUMBER:
            raise FileFormatError(f"a number has more than {LONGEST_NUMBER} digits {_line(event)}")
        read = getattr(self.constructor, f"construct_yaml_{kind}")
        try:
            return read(self.yaml.ScalarNode(event.tag, text))
        except (ValueError, LookupError, ArithmeticError):
            raise FileFormatError(f"{text[:60]!r} is not of type {kind} {_line(event)}") from None

    def _check_tag(self, event: Any) -> None:
        plain = "map" if isinstance(event, self.yaml.MappingStartEvent) else "seq"
        if event.tag not in (None, "!", f"tag:yaml.org,2002:{plain}"):
            raise FileFormatError(f"it holds values of type {event.tag[:60]!r}, which are not read here {_line(event)}")

    def _mapping(self, values: list[Any], event: Any) -> dict[Any, Any]:
        keys = values[::2]
        if any(isinstance(key, (list, dict)) for key in keys):
            raise FileFormatError(f"a list or table stands where a key belongs {_line(event)}")
        return _table(list(zip(keys, values[1::2], strict=True)))


def _line(event: Any) -> str:
    return f"(line {event.start_mark.line + 1})"


def _table(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        seen: set[Any] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise FileFormatError(f"key {str(twice)[:60]!r} is there twice")
    return table


def _check_depth(depth: int) -> None:
    if depth > DEEPEST:
        raise FileFormatError(f"it is nested more than {DEEPEST} levels deep")


def _check_plain(root: Any, names_only: bool = False) -> None:
    """Refuse what would make the code behind this module slow, or its messages unprintable."""
    left = [(root, 1)]
    while left:
        value, depth = left.pop()
        if isinstance(value, (dict, list)):
            _check_depth(depth)
            inside = [*value, *value.values()] if isinstance(value, dict) else value
            if not names_only:
                _check_letters(inside)
            left.extend((entry, depth + 1) for entry in inside)
        elif isinstance(value, int) and value.bit_length() > 3.33 * LONGEST_NUMBER:
            raise FileFormatError(f"a number has more than {LONGEST_NUMBER} digits")


def _check_letters(values: list[Any]) -> None:
    texts = [value for value in values if isinstance(value, str)]
    if len(values) * max(map(len, texts), default=0) > MOST_LETTERS:
        raise FileFormatError(f"a text in a list of {len(values)} is too long")
    if any(not text.isascii() and SURROGATE.search(text) for text in texts):
        raise FileFormatError("a text holds half a character (a lone surrogate)")
