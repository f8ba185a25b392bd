"""A worker process of :mod:`momentlp.solving.many.pool`: it runs a job with one problem after the other.

The worker receives the job and replies ``("ready",)``, or ``("refused", reason)`` if it cannot load the job. Then it
receives problems, one at a time, and replies ``("result", packed)`` to each, until the parent closes the pipe. Meanwhile it
sends messages of kind ``"log"``.
"""

from __future__ import annotations

import warnings
from typing import Any, NoReturn

import numpy as np

from momentlp.errors import DataError
from momentlp.problem.problem import Problem
from momentlp.runtime.inside_worker import MessageChannel, die_with_parent, exit_immediately, flush_output, redirect_stream
from momentlp.runtime.messages import error_text, picklable_error, receive
from momentlp.runtime.pickling import Packed, pack, unpack
from momentlp.runtime.shared_arrays import map_shared_array, memory_key
from momentlp.solving.many.job import Job

__all__ = ["PROBLEM_TOKEN", "main"]

# Stands in a result for the problem that the worker received: the parent has it already.
PROBLEM_TOKEN = "problem"  # noqa: S105  a name, not a password


def main() -> NoReturn:
    """Run a job with every problem that the parent sends, then exit."""
    requests, replies = redirect_stream(0, "rb"), redirect_stream(1, "wb")
    die_with_parent()
    channel = MessageChannel(replies)
    try:
        packed_job, forwards_log = receive(requests)
        try:
            job: Job = unpack(packed_job, map_shared_array)
        except Exception as error:  # noqa: BLE001  importing the caller's module can raise anything
            reason = f"backend, keep or an option cannot be loaded in a worker process ({error_text(error)})."
            channel.send("refused", reason)
            exit_immediately(1)
        if forwards_log:
            job = job.with_setting("log", channel.make_callback("log"))
        channel.send("ready")
        while True:
            result = _run_job(job, receive(requests))
            flush_output()
            channel.send("result", result)
            del result  # it would stay in memory until the next problem is solved
    except EOFError:
        exit_immediately(0)


def _run_job(job: Job, packed_item: Packed) -> Packed:
    """Run the job with one item and pack what came of it.

    Returns
    -------
    Packed
        Three values: whether the job succeeded, its result or exception, and the warnings. Warnings are sent to the parent
        because its warning filters decide about them.
    """
    arrays: dict[Any, Any] = {}  # by token
    item: Any = None
    value: Any

    def find_array(token: Any) -> Any:
        if token not in arrays:
            arrays[token] = map_shared_array(token)
        return arrays[token]

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            item = unpack(packed_item, find_array)
        except (Exception, SystemExit) as error:  # noqa: BLE001  importing the caller's module can raise anything
            reason = f"a problem cannot be loaded in a worker process ({error_text(error)})"
            succeeded, value = False, DataError(f"{reason}: its classes and functions must be importable there.")
        else:
            succeeded, value = job.run(item)
    if not succeeded:
        value = picklable_error(value, lambda error: unpack(pack(error, lambda _: None), map_shared_array))
    tokens = {memory_key(array): token for token, array in arrays.items()}

    def token_of(thing: object) -> Any:
        if thing is item and isinstance(item, Problem):
            return PROBLEM_TOKEN
        return tokens.get(memory_key(thing)) if isinstance(thing, np.ndarray) else None

    caught_warnings = [(item.message, item.category, item.filename, item.lineno) for item in caught]
    try:
        return pack((succeeded, value, caught_warnings), token_of)
    except Exception as error:  # noqa: BLE001  pickling an object of the caller's can raise anything
        reason = f"the result of keep, or a warning, cannot be sent back from its worker process ({error_text(error)})."
        return pack((False, DataError(reason), []), token_of)
