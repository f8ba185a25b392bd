"""A worker process for tests: it receives requests and does what they say."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

from momentlp.runtime.inside_worker import MessageChannel, die_with_parent, exit_immediately, redirect_stream
from momentlp.runtime.messages import receive


class Unloadable:
    """An object that can be pickled and not unpickled."""

    def __reduce__(self) -> Any:
        return (refuse_to_load, ())


def refuse_to_load() -> None:
    raise LookupError("cannot be loaded")


def main() -> NoReturn:
    requests, replies = redirect_stream(0, "rb"), redirect_stream(1, "wb")
    die_with_parent()
    channel = MessageChannel(replies)
    try:
        while True:
            name, *arguments = receive(requests)
            REQUESTS[name](channel, *arguments)
    except EOFError:
        exit_immediately(0)


def print_line(channel: MessageChannel, line: str) -> None:
    sys.stderr.write(line)
    sys.stderr.flush()
    channel.send("printed")


def read_and_print(channel: MessageChannel) -> None:
    os.write(1, b"not a message")
    channel.send("input", os.read(0, 100))


def close_pipe(channel: MessageChannel) -> None:
    os.closerange(3, 64)
    time.sleep(3600)


def hang(channel: MessageChannel) -> None:
    channel.send("hanging")
    time.sleep(3600)


def warn(channel: MessageChannel) -> None:
    channel.forward_warnings()
    warnings.warn_explicit("a known kind", FutureWarning, "file.py", 7)
    warnings.warn_explicit("an unknown kind", type("LocalWarning", (UserWarning,), {}), "file.py", 8)


REQUESTS: dict[str, Callable[..., None]] = {
    "echo": lambda channel, value: channel.send("echo", value),
    "get variable": lambda channel, name: channel.send("variable", os.environ.get(name)),
    "print": print_line,
    "read and print": read_and_print,
    "exit": lambda channel, code: exit_immediately(code),
    "close pipe": close_pipe,
    "hang": hang,
    "warn": warn,
    "fail": lambda channel: channel.send_error(KeyError("basis")),
    "send unreadable": lambda channel: channel.send("object", Unloadable()),
    "callback": lambda channel: channel.make_callback("log")("a line"),
}
