"""Worker processes that solve and judge problems; one that hangs or crashes is replaced."""

from __future__ import annotations

import multiprocessing
import time
import warnings
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait

import momentlp as mlp

from .families import make_problem
from .judge import Claim, Truth

__all__ = ["Outcome", "Task", "run_task", "run_tasks"]

BUILD, SOLVE, JUDGE = "build", "solve", "judge"
START_SECONDS = 60.0  # more for the first task of a worker, which imports the solvers


@dataclass(frozen=True)
class Task:
    """One problem, and the backends that shall solve it."""

    family: str
    seed: int
    number: int
    backends: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """The judged answer of one backend.

    ``status`` is that of the solution, or REFUSED if the inputs are refused with an error of momentlp, UNJUDGED if the exact
    optimum took too long, CRASH or HANG. ``objection`` says what is wrong, if anything is.
    """

    family: str
    number: int
    backend: str
    status: str
    objection: str
    seconds: float


@dataclass(frozen=True)
class _Step:
    """What a worker is about to do."""

    backend: str
    stage: str


def run_task(task: Task) -> Iterator[_Step | Outcome]:
    """Yield every step of a task before it starts, and the outcome of every backend."""
    yield _Step("", BUILD)
    raw = make_problem(task.family, task.seed, task.number)
    try:
        problem = raw.build()
    except mlp.MomentLPError:
        yield Outcome(task.family, task.number, "", "REFUSED", "", 0.0)
        return
    except Exception as error:  # noqa: BLE001  every other error is a finding
        yield Outcome(task.family, task.number, "", "CRASH", f"compile raised {error!r:.200}", 0.0)
        return
    truth: Truth | None = None
    for backend in task.backends:
        yield _Step(backend, SOLVE)
        started = time.perf_counter()
        try:
            claim = Claim.of(mlp.solve(problem, backend))
        except Exception as error:  # noqa: BLE001  no error is expected of a solve without limits
            seconds = time.perf_counter() - started
            yield Outcome(task.family, task.number, backend, "CRASH", f"solve raised {error!r:.200}", seconds)
            continue
        seconds = time.perf_counter() - started
        yield _Step(backend, JUDGE)
        truth = truth or Truth.of(raw, problem)
        yield Outcome(task.family, task.number, backend, claim.status, truth.objection(claim), seconds)


def _work(connection: Connection) -> None:
    """Run tasks until the other end closes."""
    warnings.simplefilter("ignore")
    while True:
        try:
            task = connection.recv()
        except EOFError:
            return
        for message in run_task(task):
            connection.send(message)
        connection.send(None)


class _Worker:
    """A process, the task it runs, and the step at which it is."""

    def __init__(self) -> None:
        self.connection, other = multiprocessing.get_context("spawn").Pipe()
        self.process = multiprocessing.get_context("spawn").Process(target=_work, args=(other,), daemon=True)
        self.process.start()
        other.close()
        self.task: Task | None = None
        self.step = _Step("", BUILD)
        self.since = time.perf_counter() + START_SECONDS

    def start(self, task: Task) -> None:
        self.task, self.step = task, _Step("", BUILD)
        self.since = max(self.since, time.perf_counter())
        self.connection.send(task)

    def seconds(self) -> float:
        return time.perf_counter() - self.since

    def stop(self) -> None:
        """End the process: an idle one by itself, one that is at work or hangs by force."""
        self.connection.close()
        if self.task is None:
            self.process.join(timeout=5.0)
        self.process.kill()
        self.process.join()

    def lost(self, status: str, objection: str) -> tuple[Outcome, Task | None]:
        """Return the outcome of a step that did not end, and what is left of the task."""
        assert self.task is not None
        task, backend, stage = self.task, self.step.backend, self.step.stage
        if stage == JUDGE and status == "HANG":  # the exact optimum took too long; an error of the judge is a finding
            status, objection = "UNJUDGED", ""
        reason = f"{stage}: {objection}" if objection else ""
        outcome = Outcome(task.family, task.number, backend, status, reason, self.seconds())
        rest = task.backends[task.backends.index(backend) + 1 :] if backend else ()
        return outcome, replace(task, backends=rest) if rest else None


def run_tasks(tasks: list[Task], jobs: int, time_limit: float) -> Iterator[Outcome]:
    """Run tasks in ``jobs`` processes and yield outcomes as they come.

    Parameters
    ----------
    tasks : list of Task
    jobs : int
    time_limit : float
        Seconds for one step. A process that takes longer is killed, and another continues with the next backend.
    """
    waiting, workers = deque(tasks), [_Worker() for _ in range(min(jobs, len(tasks)))]
    try:
        while waiting or any(worker.task for worker in workers):
            for place, worker in enumerate(workers):
                if worker.connection.closed:
                    workers[place] = _Worker()
                if workers[place].task is None and waiting:
                    workers[place].start(waiting.popleft())
            for worker in _ready(workers, time_limit):
                outcome, rest = _receive(worker, time_limit)
                waiting.extendleft([rest] if rest else [])
                if outcome:
                    yield outcome
    finally:
        for worker in workers:
            worker.stop()


def _ready(workers: list[_Worker], time_limit: float) -> list[_Worker]:
    """Wait up to a second and return the workers that sent a message, died or took too long."""
    busy = [worker for worker in workers if worker.task]
    sent = wait([worker.connection for worker in busy], timeout=1.0)
    return [worker for worker in busy if worker.connection in sent or worker.seconds() > time_limit]


def _receive(worker: _Worker, time_limit: float) -> tuple[Outcome | None, Task | None]:
    """Handle one message of a worker; one that died or took too long is stopped, and its outcome returned."""
    try:
        message = (
            worker.connection.recv() if worker.connection.poll() else worker.lost("HANG", f"over {time_limit:g} seconds")
        )
    except (EOFError, OSError):
        worker.process.join()
        message = worker.lost("CRASH", f"the process ended with exit code {worker.process.exitcode}")
    if isinstance(message, tuple):
        worker.stop()
        return message
    if message is None:
        worker.task = None
    elif isinstance(message, _Step):
        worker.step, worker.since = message, time.perf_counter()
    else:
        return message, None
    return None, None
