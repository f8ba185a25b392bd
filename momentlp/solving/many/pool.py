"""Worker processes for many problems, each a Python of its own with a line of its own to this process.

Whose worker dies is known, and nobody else's. A problem goes there as a small pickle: its large arrays lie in memory that
all processes map (:mod:`momentlp.runtime.shared_arrays`), for as long as a problem in work needs them, and do not travel at all. Neither
does the problem on the way back: what a worker returns names it, and the name is read here as the object that was given.

joblib's pool, which does much of this, keeps every array that it ever mapped until the last problem is solved, and when one
worker dies it gives up all that was in work.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from io import TextIOBase
from queue import Empty, SimpleQueue
from typing import Any, Self

from numpy.typing import NDArray

from momentlp.errors import DataError, OptionError, SolverError
from momentlp.runtime.messages import error_text, receive, send
from momentlp.runtime.pickling import Parcel, pack, unpack
from momentlp.runtime.shared_arrays import SharedArrays
from momentlp.runtime.subprocesses import describe_exit_code, kill_process_group, start_worker
from momentlp.solving.many.job import PROBLEM_TOKEN, Job

__all__ = ["Done", "run_in_pool"]

Done = Callable[[int, Any, bool, Any], None]  # takes the place of a problem, what was given there, and what Job.done returns

AHEAD = 2  # problems per worker that are taken from the caller: one in work, one waiting
TICK = 0.1  # seconds: on Windows a wait does not notice Ctrl-C before its end
SECONDS_TO_END = 2.0  # for a process whose pipes are closed already
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def run_in_pool(job: Job, problems: Iterable[Any], done: Done, workers: int, threads: int) -> None:
    """Do the job with every problem in so many worker processes, with so many threads each.

    Raises
    ------
    OptionError
        If the job cannot be sent to a worker.
    SolverError
        If a worker cannot be started.
    """
    with _Pool(job.limited(threads), done, workers, threads) as pool:
        for index, item in enumerate(problems):
            pool.take(index, item)
            del item  # it is not to wait in memory for the next one
            while pool.step(wait=pool.in_hand >= AHEAD * workers):
                pass
        while pool.in_hand:
            pool.step(wait=True)


@dataclass(eq=False)
class _Task:
    """A problem in work or waiting for it."""

    index: int
    item: Any
    held: dict[Any, NDArray[Any]] = field(default_factory=dict)  # the shared arrays in it, by their token
    parcel: Parcel = (b"", [])
    died: bool = False


class _Pool:
    """The workers, and what each is at."""

    def __init__(self, job: Job, done: Done, most: int, threads: int) -> None:
        self.done, self.most = done, most
        self.in_hand = 0  # problems taken and not yet answered
        self.waiting: deque[_Task] = deque()
        self.again: deque[_Task] = deque()
        self.workers: list[_Worker] = []
        self.inbox: SimpleQueue[tuple[_Worker, tuple[Any, ...]]] = SimpleQueue()
        self.registry: dict[Any, Any] = {}  # of warnings, where Python notes which have been shown
        self.shared = SharedArrays()
        self.environment = {**dict.fromkeys(THREADS, str(threads)), **os.environ}
        log = job.settings.get("log")
        self.log: Callable[[str], Any] | None = log.write if isinstance(log, TextIOBase) else log
        self.held: dict[Any, NDArray[Any]] = {}  # the shared arrays in the job
        try:
            self.orders = self._packed(job.having("log", None), self.held), self.log is not None
        except Exception as error:
            self.shared.close()
            raise OptionError(
                f"backend, keep or an option cannot be sent to a worker process ({error_text(error)}): use plain values and "
                "functions, or n_jobs=1."
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            kill_process_group(worker.process)
        for worker in self.workers:
            worker.bury()
        self.shared.close()

    def take(self, index: int, item: Any) -> None:
        """Take a problem into work."""
        task = _Task(index, item)
        self.in_hand += 1
        try:
            task.parcel = self._packed(item, task.held)
        except Exception as error:  # noqa: BLE001  whatever the pickle of a caller's object raises
            reason = f"problem {index} cannot be sent to a worker process ({error_text(error)}): use n_jobs=1."
            self._finish(task, False, DataError(reason))
        else:
            self.waiting.append(task)

    def step(self, *, wait: bool) -> bool:
        """Give out work and deal with one message from a worker; False if there is none (yet)."""
        self._give_out()
        try:
            worker, (kind, *content) = self.inbox.get(timeout=TICK) if wait else self.inbox.get_nowait()
        except Empty:
            return wait
        if worker not in self.workers:
            return True  # last words of one that was dismissed
        if kind == "ready":
            worker.ready = True
        elif kind == "log" and self.log is not None:
            self.log(*content)
        elif kind == "refused":
            raise OptionError(*content)
        elif kind == "result":
            self._read(worker.finished(), *content)
        else:
            self._mourn(worker)
        return True

    def _packed(self, value: Any, held: dict[Any, NDArray[Any]]) -> Parcel:
        return pack(value, lambda thing: self.shared.token(thing, held))

    def _give_out(self) -> None:
        """Give work to whoever is free, and start who is missing. Who was at work in a process that died gets one alone."""
        queue, most = self.waiting, self.most
        if self.again:
            if any(worker.task is not None for worker in self.workers):
                return
            queue, most = self.again, 1
            for worker in [worker for worker in self.workers if not worker.fresh]:
                self.workers.remove(worker)
                worker.bury()
        elif any(worker.task is not None and worker.task.died for worker in self.workers):
            return
        for worker in self.workers[:most]:
            if queue and worker.ready and worker.task is None:
                worker.give(queue.popleft())
        coming = sum(not worker.ready for worker in self.workers)
        for _ in range(min(len(queue) - coming, most - len(self.workers))):
            self.workers.append(_Worker(self.orders, self.inbox, self.environment))

    def _read(self, task: _Task, parcel: Parcel) -> None:
        try:
            good, value, caught = unpack(parcel, lambda token: task.item if token == PROBLEM_TOKEN else task.held[token])
            for message, category, filename, line in caught:
                warnings.warn_explicit(message, category, filename, line, registry=self.registry)
        except Exception as error:  # noqa: BLE001  what does not load here, or a warning that is an error here
            good, value = False, error
        self._finish(task, good, value)

    def _finish(self, task: _Task, good: bool, value: Any) -> None:
        self.in_hand -= 1
        self.shared.release(task.held.values())
        self.done(task.index, task.item, good, value)

    def _mourn(self, worker: _Worker) -> None:
        """Deal with the death of a worker: its problem is tried again, once."""
        task = worker.task
        self.workers.remove(worker)
        how = worker.bury(SECONDS_TO_END)
        if not worker.ready:
            raise SolverError(f"a worker process {how} before it could take work: use n_jobs=1, or see what it has printed.")
        if task is not None and task.died:
            reason = (
                f"the worker process of problem {task.index} {how}, as one had before; this time nothing ran beside it. "
                "If it ran out of memory, make the problem smaller; if not, save it with problem.save(path) and report "
                "it, or try another backend. The other problems are unharmed."
            )
            self._finish(task, False, SolverError(reason))
        elif task is not None:
            task.died = True
            self.again.append(task)


class _Worker:
    """A worker process, seen from here."""

    def __init__(
        self, orders: Any, inbox: SimpleQueue[tuple[_Worker, tuple[Any, ...]]], environment: dict[str, str]
    ) -> None:
        self.task: _Task | None = None
        self.ready, self.fresh = False, True
        self.process = start_worker("momentlp.solving.many.job", env=environment)
        self._inbox = inbox
        self._orders: Any = self.process.stdin
        self._reader = threading.Thread(target=self._read, args=(self.process.stdout,), name="momentlp-pool", daemon=True)
        self._reader.start()
        self._send(orders)

    def give(self, task: _Task) -> None:
        self.task, self.fresh = task, False
        self._send(task.parcel)

    def finished(self) -> Any:
        """Return the task, which is done."""
        task, self.task = self.task, None
        return task

    def bury(self, patience: float = 0.0) -> str:
        """See the process to its end, which it may find by itself within so many seconds, and say what it was."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(patience)
        kill_process_group(self.process)
        code = self.process.wait()
        self._reader.join(SECONDS_TO_END)
        with contextlib.suppress(OSError):
            self._orders.close()
        return describe_exit_code(code)

    def _send(self, message: Any) -> None:
        with contextlib.suppress(OSError):  # it is gone: the reader will tell
            send(self._orders, message)

    def _read(self, stream: Any) -> None:
        with stream, contextlib.suppress(EOFError, OSError, pickle.UnpicklingError):
            while True:
                self._inbox.put((self, receive(stream)))
        self._inbox.put((self, ("end",)))
