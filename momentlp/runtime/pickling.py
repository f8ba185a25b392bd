"""Pickles for other processes: large objects stay behind, and functions of the caller's own script can be sent.

The pickle module sends a function as a name to import. Another process cannot import a lambda, a function defined inside a
function, or a function of the script or notebook itself. If cloudpickle is installed, it sends these as code.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from importlib import import_module
from types import FunctionType
from typing import Any

from momentlp.errors import ExtraMissingError

__all__ = ["Packed", "pack", "unpack"]

Packed = tuple[bytes, list[Any]]  # a pickle, and the buffers of the arrays in it


def pack(value: Any, token_of: Callable[[object], Any]) -> Packed:
    """Pickle a value. Objects that have a token are replaced by the token.

    Parameters
    ----------
    value : object
    token_of : callable
        Called with every object inside ``value``; returns its token, or None if the object itself is to be pickled.

    Raises
    ------
    ExtraMissingError
        If the value holds a function or a class that only cloudpickle can send, and cloudpickle is not installed.

    Examples
    --------
    >>> packed = pack(["large", "small"], lambda thing: 7 if thing == "large" else None)
    >>> unpack(packed, {7: "the object with token 7"}.get)
    ['the object with token 7', 'small']
    """
    stream, buffers = io.BytesIO(), list[Any]()
    pickler = _pickler_class()(stream, protocol=5, buffer_callback=buffers.append)
    # Set on the instance: a subclass made here would be a reference cycle, which keeps arrays in memory.
    pickler.persistent_id = token_of
    pickler.dump(value)
    return stream.getvalue(), buffers


def unpack(packed: Packed, find: Callable[[Any], Any]) -> Any:
    """Return the value that was packed. ``find`` is called with each token and returns the object for it."""
    return _Unpickler(packed, find).load()


class _Unpickler(pickle.Unpickler):
    def __init__(self, packed: Packed, find: Callable[[Any], Any]) -> None:
        super().__init__(io.BytesIO(packed[0]), buffers=packed[1])
        self._find = find

    def persistent_load(self, token: Any) -> Any:
        return self._find(token)


def _pickler_class() -> Any:
    try:
        return import_module("cloudpickle").Pickler
    except ModuleNotFoundError:
        return _PlainPickler


class _PlainPickler(pickle.Pickler):
    """The pickler of the standard library. It refuses functions and classes that the other process could not import."""

    def reducer_override(self, thing: Any) -> Any:
        if not isinstance(thing, FunctionType | type):
            return NotImplemented
        if thing.__module__ == "__main__" or "<" in thing.__qualname__:  # <lambda>, <locals>
            code = getattr(thing, "__code__", None)
            where = f" (line {code.co_firstlineno} of {code.co_filename})" if code else ""
            raise ExtraMissingError(
                f"{thing.__qualname__}{where} cannot be imported by another process: run pip install cloudpickle, which can "
                "send it, or define it at the top of a module"
            )
        return NotImplemented
