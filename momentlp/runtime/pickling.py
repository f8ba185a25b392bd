"""Pickles for other processes, with functions of the caller's own script in them and large objects left out.

The pickle module sends a function as the name of a place to import it from. Where cloudpickle is installed, a lambda, a
function inside a function and one of the script or notebook itself, none of which another process can import, go as code.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from importlib import import_module
from types import FunctionType
from typing import Any

from momentlp.errors import ExtraMissingError

__all__ = ["Parcel", "pack", "unpack"]

Parcel = tuple[bytes, list[Any]]  # a pickle, and the buffers of the arrays in it


def pack(value: Any, token: Callable[[object], Any]) -> Parcel:
    """Pickle a value, but for objects that ``token`` names: those stay behind, and only their tokens go.

    Raises
    ------
    ExtraMissingError
        If there is a function or a class in it that only cloudpickle can send.

    Examples
    --------
    >>> parcel = pack(["here", "there"], lambda thing: 7 if thing == "here" else None)
    >>> unpack(parcel, {7: "what is called 7"}.get)
    ['what is called 7', 'there']
    """
    stream, buffers = io.BytesIO(), list[Any]()
    pickler = _pickler()(stream, protocol=5, buffer_callback=buffers.append)
    pickler.persistent_id = token  # a class made here would be a cycle, and hold on to the arrays that the token knows
    pickler.dump(value)
    return stream.getvalue(), buffers


def unpack(parcel: Parcel, find: Callable[[Any], Any]) -> Any:
    """Return the value in a parcel; ``find`` is called with the tokens in it."""
    return _Unpickler(parcel, find).load()


class _Unpickler(pickle.Unpickler):
    def __init__(self, parcel: Parcel, find: Callable[[Any], Any]) -> None:
        super().__init__(io.BytesIO(parcel[0]), buffers=parcel[1])
        self._find = find

    def persistent_load(self, token: Any) -> Any:
        return self._find(token)


def _pickler() -> Any:
    try:
        return import_module("cloudpickle").Pickler
    except ModuleNotFoundError:
        return _PlainPickler


class _PlainPickler(pickle.Pickler):
    def reducer_override(self, thing: Any) -> Any:
        """Refuse what would be sent as a name that means nothing elsewhere."""
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
