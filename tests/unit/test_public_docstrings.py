"""Every public name is documented: what it does, its parameters, what it returns and raises, and an example.

The doctests of the package run the examples. This module checks that the sections exist and name every parameter.
"""

import ast
import dataclasses
import enum
import inspect
import re
import textwrap
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import pytest

import momentlp
import momentlp.datasets.usps
import momentlp.matching
import momentlp.plots
import momentlp.synthetic
import momentlp.testing
import momentlp_glpk
import momentlp_highs
import momentlp_pyomo
import momentlp_scipy
import momentlp_sifting
from momentlp import errors

MODULES = (momentlp, momentlp.matching, momentlp.plots, momentlp.testing, momentlp.synthetic, momentlp.datasets.usps)
BACKENDS = (momentlp_glpk, momentlp_highs, momentlp_pyomo, momentlp_scipy, momentlp_sifting)

# Public names that need no example of their own, by the reason.
NO_EXAMPLE = {
    "it is raised only where a package is missing": {"BackendUnavailableError", "ExtraMissingError"},
    "hypothesis draws from it inside a test, as the docstring of momentlp.testing.strategies shows": {
        "clouds",
        "feature_maps",
        "half_spaces",
        "labelled_sets",
        "problems",
        "tolerances",
    },
}
WITHOUT_EXAMPLE = {name for names in NO_EXAMPLE.values() for name in names}

INHERITED = {"Parameters", "Returns", "Raises"}
ERRORS = {name for name, kind in vars(errors).items() if inspect.isclass(kind) and issubclass(kind, BaseException)}


class Public(NamedTuple):
    """A public name and its object."""

    name: str
    value: Any


class Member(NamedTuple):
    """A public method or property of a public class, as its ``owner`` defines it: ``function`` is what runs."""

    name: str
    owner: type
    function: Any
    is_method: bool


def _public_names() -> Iterator[Public]:
    """Yield the classes and functions of the public modules, and the backend classes."""
    for module in MODULES + BACKENDS:
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isroutine(value):
                yield Public(f"{module.__name__}.{name}", value)


def _members() -> Iterator[Member]:
    """Yield the public methods and properties that public classes define in this project."""
    for public in PUBLIC:
        if not inspect.isclass(public.value):
            continue
        for owner in public.value.__mro__:
            if not owner.__module__.startswith("momentlp"):
                continue
            for name in vars(owner):
                member = None if name.startswith("_") else _member(owner, name)
                if member is not None:
                    yield member


def _member(owner: type, name: str) -> Member | None:
    value, full_name = vars(owner)[name], f"{owner.__module__}.{owner.__qualname__}.{name}"
    if isinstance(value, property):
        return Member(full_name, owner, value.fget, is_method=False)
    if isinstance(value, cached_property):
        return Member(full_name, owner, value.func, is_method=False)
    if isinstance(value, (classmethod, staticmethod)):
        return Member(full_name, owner, value.__func__, is_method=True)
    return Member(full_name, owner, value, is_method=True) if inspect.isfunction(value) else None


def _is_test(member: Member) -> bool:
    """Whether pytest or hypothesis calls the method and passes the arguments, as in a contract."""
    return member.owner.__name__.endswith("Contract") and member.name.rpartition(".")[2].startswith(("test_", "check_"))


PUBLIC = list(_public_names())
CLASSES = [public for public in PUBLIC if inspect.isclass(public.value)]
FUNCTIONS = [public for public in PUBLIC if not inspect.isclass(public.value)]
MEMBERS = list({member.name: member for member in _members()}.values())
METHODS = [member for member in MEMBERS if member.is_method and not _is_test(member)]


def _has_parameters(public: Public) -> bool:
    """Whether users call the class with arguments: they neither build errors nor the members of an enumeration."""
    return not issubclass(public.value, (BaseException, enum.Enum))


def _ids(item: Any) -> str:
    return str(item.name)


def _sections(docstring: str) -> dict[str, str]:
    """Split a numpydoc docstring by its underlined headings; the text before the first is under ``""``."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}$", docstring, flags=re.MULTILINE)
    return {"": parts[0]} | dict(zip(parts[1::2], parts[2::2], strict=True))


def _docstring(value: Any) -> dict[str, str]:
    """Return the sections of an object's own docstring: one that a class inherits does not count."""
    own = value.__doc__ if not inspect.isclass(value) else vars(value).get("__doc__")
    return _sections(inspect.cleandoc(own or ""))


def _sections_with_overridden(member: Member) -> dict[str, str]:
    """Return the sections of a member, with those in INHERITED of the methods of this project that it overrides.

    A subclass takes the arguments of its base class and returns the same: a reader finds their meaning there.
    """
    sections = _docstring(member.function)
    name = member.name.rpartition(".")[2]
    for base in member.owner.__mro__[1:]:
        overridden = _member(base, name) if base.__module__.startswith("momentlp") and name in vars(base) else None
        if overridden is not None:
            inherited = _docstring(overridden.function)
            for title in INHERITED & inherited.keys():
                sections[title] = sections.get(title, "") + inherited[title]
    return sections


def _summary(sections: dict[str, str]) -> str:
    return sections[""].split("\n\n")[0].strip()


def _is_one_line_sentence(summary: str) -> bool:
    return summary.endswith((".", "?")) and "\n" not in summary


def _named_entries(text: str) -> set[str]:
    """Return the names that a section lists: ``a, b : type`` or ``a``, at the start of a line."""
    heads = re.findall(r"^([*\w][^:\n]*?)(?: ?:.*)?$", text, flags=re.MULTILINE)
    return {name.strip().lstrip("*") for head in heads for name in head.split(",")}


def _parameters(function: Any) -> list[str]:
    """Return the public parameters of a function or class."""
    names = list(inspect.signature(function).parameters)
    return [name for name in names if name not in {"self", "cls"} and not name.startswith("_")]


def _missing_parameters(value: Any, sections: dict[str, str], *, allow_attributes: bool = False) -> list[str]:
    text = sections.get("Parameters", "") + ("\n" + sections.get("Attributes", "") if allow_attributes else "")
    return [name for name in _parameters(value) if name not in _named_entries(text)]


def _says_what_it_returns(function: Any, sections: dict[str, str]) -> bool:
    """Whether a function returns nothing, has a section for it, or has a summary that says it: ``Return the ...``."""
    stated = sections[""].startswith(("Return", "Yield")) or sections.keys() & {"Returns", "Yields"}
    return bool(stated) or not _returns_something(function)


def _returns_something(function: Any) -> bool:
    return any(isinstance(node, ast.Return) and node.value is not None for node in _own_nodes(_parse(function)))


def _raised_errors(function: Any) -> set[str]:
    """Return the errors of momentlp that the function's own code raises."""
    raised = {node.exc for node in _own_nodes(_parse(function)) if isinstance(node, ast.Raise) and node.exc is not None}
    calls = {exc.func if isinstance(exc, ast.Call) else exc for exc in raised}
    return {call.id for call in calls if isinstance(call, ast.Name)} & ERRORS


def _has_source(function: Any) -> bool:
    """Whether a constructor is written in a module of this project: dataclasses and pydantic make others."""
    return inspect.isfunction(function) and function.__code__.co_filename.endswith(".py")


def _parse(function: Any) -> ast.AST:
    """Return the syntax tree of a function. Hypothesis compiles its strategies anew, so theirs are looked up by name."""
    try:
        source = inspect.getsource(function)
    except OSError:
        module = ast.parse(inspect.getsource(inspect.getmodule(function)))  # type: ignore[arg-type]  # functions have one
        return next(node for node in module.body if getattr(node, "name", None) == function.__name__)
    return ast.parse(textwrap.dedent(source)).body[0]


def _own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """Walk a function without the functions defined inside it."""
    for node in ast.iter_child_nodes(function):
        if not isinstance(node, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
            yield node
            yield from _own_nodes(node)


def _undocumented_errors(function: Any, sections: dict[str, str]) -> list[str]:
    return sorted(name for name in _raised_errors(function) if not re.search(rf"\b{name}\b", sections.get("Raises", "")))


@pytest.mark.parametrize("public", PUBLIC, ids=_ids)
def test_a_public_name_says_in_one_sentence_what_it_is(public: Public) -> None:
    summary = _summary(_docstring(public.value))
    assert _is_one_line_sentence(summary), f"the first line must be a sentence: {summary!r}"


@pytest.mark.parametrize("public", list(filter(_has_parameters, CLASSES)), ids=_ids)
def test_a_class_documents_every_parameter_and_what_its_constructor_raises(public: Public) -> None:
    sections = _docstring(public.value)
    missing = _missing_parameters(public.value, sections, allow_attributes=dataclasses.is_dataclass(public.value))
    assert not missing, f"no entry under Parameters for {missing}"
    constructors = [vars(public.value).get(name) for name in ("__init__", "__post_init__")]
    for constructor in filter(_has_source, constructors):
        assert not _undocumented_errors(constructor, sections)


@pytest.mark.parametrize("public", FUNCTIONS, ids=_ids)
def test_a_function_documents_every_parameter_and_what_it_returns_and_raises(public: Public) -> None:
    sections = _docstring(public.value)
    missing = _missing_parameters(public.value, sections)
    assert not missing, f"no entry under Parameters for {missing}"
    assert _says_what_it_returns(public.value, sections), "no Returns section"
    assert not _undocumented_errors(public.value, sections)


@pytest.mark.parametrize("public", [public for public in PUBLIC if public.value.__name__ not in WITHOUT_EXAMPLE], ids=_ids)
def test_a_public_name_has_an_example(public: Public) -> None:
    assert ">>> " in _docstring(public.value).get("Examples", ""), "no Examples section with code that runs"


def test_no_excuse_outlives_its_name() -> None:
    assert {public.value.__name__ for public in PUBLIC} >= WITHOUT_EXAMPLE


@pytest.mark.parametrize("member", MEMBERS, ids=_ids)
def test_a_method_or_property_says_what_it_is_and_raises(member: Member) -> None:
    sections = _sections_with_overridden(member)
    summary = _summary(sections)
    assert _is_one_line_sentence(summary), f"the first line must be a sentence: {summary!r}"
    undocumented = _undocumented_errors(member.function, sections)
    assert not undocumented, f"no entry under Raises for {undocumented}"


@pytest.mark.parametrize("member", METHODS, ids=_ids)
def test_a_method_documents_every_parameter_and_what_it_returns(member: Member) -> None:
    sections = _sections_with_overridden(member)
    missing = _missing_parameters(member.function, sections)
    only = len(_parameters(member.function)) == 1
    assert not missing or (only and f"``{missing[0]}``" in _summary(sections)), f"no entry under Parameters for {missing}"
    assert _says_what_it_returns(member.function, sections), "no Returns section"
