"""Plain values from JSON and YAML text that comes from outside.

Nothing in the text is run, and its size, depth and numbers are limited. Plain values are those of JSON: tables, lists,
strings, numbers, true, false and null.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from momentlp.errors import ExtraMissingError, FileFormatError
from momentlp.formats.read_errors import short_reason

__all__ = ["MAX_JSON_LENGTH", "MAX_YAML_LENGTH", "format_yaml", "parse_json", "parse_yaml", "require_yaml"]

MAX_JSON_LENGTH = 32 << 20  # characters of JSON: a million labelled points fit
MAX_YAML_LENGTH = 4 << 20  # characters of YAML, which is read far more slowly than JSON
MAX_DEPTH = 40  # levels of tables and lists; a spec has a handful
MAX_DIGITS = 400  # of a number; the largest float has 309
MAX_TEXT_CELLS = 1 << 28  # characters of a list of strings as a numpy array, which makes all as long as the longest
MAX_SHOWN = 60  # characters of a value in a message
SURROGATE = re.compile("[\ud800-\udfff]")
YAML_TAG = "tag:yaml.org,2002:"


def parse_json(text: str | bytes, *, names_only: bool = False) -> Any:
    """Read plain values from JSON. A key that a table has twice is refused.

    Parameters
    ----------
    text : str or bytes
    names_only : bool
        Whether strings in the text are only names, so that their length and characters need no check.

    Raises
    ------
    FileFormatError
        If the text is not JSON, or exceeds a limit.
    """
    try:
        value = json.loads(text, object_pairs_hook=_build_table)
    except FileFormatError:
        raise
    except RecursionError:
        raise FileFormatError("it is nested too deep") from None
    except ValueError as error:
        raise FileFormatError(short_reason(error)) from None
    _check_plain(value, names_only)
    return value


def parse_yaml(text: str) -> Any:
    """Read plain values from YAML: one document, without aliases, merge keys, and tags of other types.

    A date stays the text it is. Needs PyYAML.

    Raises
    ------
    FileFormatError
        If the text is not such YAML, or exceeds a limit. The message gives the line.
    ExtraMissingError
        If PyYAML is not installed.
    """
    yaml = require_yaml()
    try:
        loader = _plain_loader()(text)
        try:
            value = loader.get_single_data()
        finally:
            loader.dispose()
    except FileFormatError:
        raise
    except yaml.MarkedYAMLError as error:
        words = ", ".join(part for part in (error.context, error.problem) if part)
        mark = error.problem_mark or error.context_mark
        raise FileFormatError(short_reason(ValueError(words)) + (f" (line {mark.line + 1})" if mark else "")) from None
    except (yaml.YAMLError, ValueError, ArithmeticError, RecursionError) as error:
        raise FileFormatError(short_reason(error)) from None
    _check_plain(value)
    return value


def format_yaml(value: Any) -> str:
    """Write plain values as YAML without aliases, so that :func:`parse_yaml` can read them. Needs PyYAML."""
    return str(require_yaml().dump(value, Dumper=_plain_dumper(), sort_keys=False))


def require_yaml() -> Any:
    """Return PyYAML, or say how to install it."""
    try:
        import yaml
    except ImportError:
        raise ExtraMissingError("specs in YAML need PyYAML: run pip install 'momentlp[yaml]', or use JSON.") from None
    return yaml


@cache
def _plain_dumper() -> Any:
    """Return a SafeDumper that writes a value out in full wherever it occurs."""
    return type("PlainDumper", (require_yaml().SafeDumper,), {"ignore_aliases": lambda *_: True})


@cache
def _plain_loader() -> Any:
    """Return the SafeLoader that :func:`parse_yaml` uses. It is made here because PyYAML is optional.

    It takes the parser in C if PyYAML has it. Nodes are composed in Python in any case: the composer in C recurses as deep
    as the text asks for.
    """
    yaml = require_yaml()
    has_c_parser = hasattr(yaml, "CSafeLoader")
    bases = (yaml.composer.Composer, yaml.CSafeLoader) if has_c_parser else (yaml.SafeLoader,)
    constructors = {
        "map": yaml.SafeLoader.construct_yaml_map,
        "seq": yaml.SafeLoader.construct_yaml_seq,
        **dict.fromkeys(("str", "timestamp", "value"), _PlainLoader.construct_text),
        **dict.fromkeys(("null", "bool", "int", "float"), _PlainLoader.construct_number),
    }
    namespace = {
        "base": bases[-1],
        "alias_event": yaml.AliasEvent,
        "scalar_event": yaml.ScalarEvent,
        "yaml_constructors": {f"{YAML_TAG}{kind}": build for kind, build in constructors.items()}
        | {None: _PlainLoader.refuse_tag},
        "yaml_multi_constructors": {},
    }
    return type("PlainLoader", (_PlainLoader, *bases), namespace)


_Loader: Any = object  # PyYAML has no types, and may not be there


class _PlainLoader(_Loader):  # type: ignore[misc]  # see _Loader
    """What :func:`_plain_loader` adds to a SafeLoader: it refuses aliases, duplicate keys, and all but plain values."""

    base: Any
    alias_event: Any
    scalar_event: Any

    def __init__(self, text: str) -> None:
        self.base.__init__(self, text)
        self.anchors: dict[str, Any] = {}  # which the composer of PyYAML needs
        self.depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Compose one value, unless it is an alias or lies too deep."""
        event = self.peek_event()
        if isinstance(event, self.alias_event):
            name = event.anchor[:MAX_SHOWN]
            raise _error_at(event, f"it uses the alias *{name}, but aliases are not read: repeat the value")
        if not isinstance(event, self.scalar_event) and self.depth >= MAX_DEPTH:
            raise _error_at(event, f"it is nested more than {MAX_DEPTH} levels deep")
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        """Build a table whose keys are scalars and occur once."""
        if node.id != "mapping":
            raise _error_at(node, f"it holds a {node.id} where a table belongs")
        table: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            if key_node.id != "scalar":
                raise _error_at(key_node, "it holds a list or table where a key belongs")
            key = self.construct_object(key_node, deep=True)
            if key in table:
                raise _error_at(key_node, f"key {str(key)[:MAX_SHOWN]!r} occurs twice")
            table[key] = self.construct_object(value_node, deep=deep)
        return table

    def construct_text(self, node: Any) -> str:
        """Return the text of a scalar as it is."""
        if node.id != "scalar":
            raise _error_at(node, "it holds a list or table where a string or number belongs")
        return str(node.value)

    def construct_number(self, node: Any) -> Any:
        """Return the number, the boolean or the null of a scalar."""
        text, kind = self.construct_text(node), node.tag.removeprefix(YAML_TAG)
        if len(text) > MAX_DIGITS:
            raise _error_at(node, f"a number has more than {MAX_DIGITS} digits")
        try:
            return getattr(self, f"construct_yaml_{kind}")(node)
        except (ValueError, LookupError, ArithmeticError):
            raise _error_at(node, f"{text[:MAX_SHOWN]!r} is not of type {kind}") from None

    def refuse_tag(self, node: Any) -> Any:
        """Raise an error for a value of any other type."""
        kind = node.tag.removeprefix(YAML_TAG)[:MAX_SHOWN]
        what = "merge keys (<<)" if kind == "merge" else f"values of type {kind!r}"
        raise _error_at(node, f"it holds {what}, which are not read here")


def _error_at(position: Any, reason: str) -> FileFormatError:
    """Return the error for an event or a node of YAML, with its line."""
    return FileFormatError(f"{reason} (line {position.start_mark.line + 1})")


def _build_table(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        seen: set[Any] = set()
        for key, _ in pairs:
            if key in seen:
                raise FileFormatError(f"key {str(key)[:MAX_SHOWN]!r} occurs twice")
            seen.add(key)
    return table


def _check_plain(root: Any, names_only: bool = False) -> None:
    """Refuse values that would make the code that uses them slow, or its messages unprintable."""
    pending = [(root, 1)]
    while pending:
        value, depth = pending.pop()
        if isinstance(value, (dict, list)):
            if depth > MAX_DEPTH:
                raise FileFormatError(f"it is nested more than {MAX_DEPTH} levels deep")
            inside = [*value, *value.values()] if isinstance(value, dict) else value
            if not names_only:
                _check_strings(inside)
            pending.extend((entry, depth + 1) for entry in inside)
        elif isinstance(value, int) and value.bit_length() > 3.33 * MAX_DIGITS:  # bits of a digit
            raise FileFormatError(f"a number has more than {MAX_DIGITS} digits")


def _check_strings(values: list[Any]) -> None:
    texts = [value for value in values if isinstance(value, str)]
    if len(values) * max(map(len, texts), default=0) > MAX_TEXT_CELLS:
        raise FileFormatError(f"a string in a list of {len(values)} is too long")
    if any(not text.isascii() and SURROGATE.search(text) for text in texts):
        raise FileFormatError("a string holds a lone surrogate, which is half a character")
