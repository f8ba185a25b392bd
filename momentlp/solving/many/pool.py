"""Run a job with many problems in several worker processes.

Every worker has a pipe of its own to this process. So when a worker dies, :meth:`_Pool._on_worker_exit` knows which problem
it was working on; the other problems are not affected. A worker that dies while it starts has no problem yet, and
another one is started. After :data:`MAX_FAILED_STARTS` in a row the work goes on with the workers that are left; without
any, one problem after the other fails. Finished results are kept in every case.

A problem is sent to a worker as a small pickle. Its large arrays are in memory that all processes map
(:mod:`momentlp.runtime.shared_arrays`), for as long as a problem in work needs them; they are not sent. The problem is not
sent back either: the result holds a token in its place, and this process replaces the token by the problem it was given.

joblib's pool does much of this. But it keeps every array that it ever mapped until the last problem is solved, and when one
worker dies it gives up all problems in work.
"""

from __future__ import annotations

import os
import warnings
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from io import TextIOBase
from queue import Empty, SimpleQueue
from typing import Any, Self

from numpy.typing import NDArray

from momentlp.errors import DataError, OptionError, SolverError
from momentlp.runtime.messages import error_text
from momentlp.runtime.pickling import Packed, pack, unpack
from momentlp.runtime.shared_arrays import SharedArrays
from momentlp.runtime.worker_process import POLL_SECONDS, SECONDS_TO_END, Inbox, WorkerProcess
from momentlp.solving.many.job import Job
from momentlp.solving.many.pool_worker import PROBLEM_TOKEN

__all__ = ["OnResult", "run_in_pool"]

OnResult = Callable[[int, Any, bool, Any], None]  # takes the index of a problem, the problem, and what Job.run returns

WORKER_MODULE = "momentlp.solving.many.pool_worker"
MAX_FAILED_STARTS = 3  # workers in a row that die while they start, before a problem fails for lack of a worker
TAKEN_PER_WORKER = 2  # problems taken from the caller at a time: one in work, one waiting
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


def run_in_pool(job: Job, problems: Iterable[Any], on_result: OnResult, n_workers: int, threads: int) -> None:
    """Run a job with every problem, in worker processes.

    Parameters
    ----------
    job : Job
    problems : iterable
        Taken when they are needed: at most two per worker are held at a time.
    on_result : callable
        Called in this process for every problem, in the order in which they are finished, with the index of the problem,
        the problem, whether the job succeeded, and its result or exception.
    n_workers : int
    threads : int
        Threads that each worker may use for linear algebra and in its solver.

    Raises
    ------
    OptionError
        If the job cannot be sent to a worker.
    SolverError
        If not one worker can be started. If workers cannot be replaced later, the problems that are left without a worker
        fail, each with a SolverError.
    """
    with _Pool(job.with_solver_threads(threads), on_result, n_workers, threads) as pool:
        for index, item in enumerate(problems):
            pool.add(index, item)
            del item  # it would stay in memory until the next one is made
            while pool.step(wait=pool.n_unfinished >= TAKEN_PER_WORKER * n_workers):
                pass
        while pool.n_unfinished:
            pool.step(wait=True)


@dataclass(eq=False)
class _Task:
    """A problem that is in work or waiting.

    Attributes
    ----------
    index : int
        Of the problem among all problems.
    item : Problem or callable
    shared : dict
        The shared arrays of the item, by token.
    packed : Packed
        The item, as it is sent.
    worker_died : bool
        Whether a worker died while it worked on this problem.
    """

    index: int
    item: Any
    shared: dict[Any, NDArray[Any]] = field(default_factory=dict)
    packed: Packed = (b"", [])
    worker_died: bool = False


class _PoolWorker(WorkerProcess):
    """A worker process and the task it works on.

    Attributes
    ----------
    task : _Task or None
    is_ready : bool
        Whether it has loaded the job.
    is_unused : bool
        Whether it has never had a task.
    """

    def __init__(self, packed_job: Any, inbox: Inbox, environment: dict[str, str]) -> None:
        super().__init__(WORKER_MODULE, inbox, environment=environment)
        self.task: _Task | None = None
        self.is_ready, self.is_unused = False, True
        self.send(packed_job)

    def start_task(self, task: _Task) -> None:
        self.task, self.is_unused = task, False
        self.send(task.packed)

    def end_task(self) -> Any:
        """Return the task, which is finished, and be free for the next one."""
        task, self.task = self.task, None
        return task


class _Pool:
    """The worker processes, and the problems that are in work or waiting.

    Attributes
    ----------
    n_unfinished : int
        Problems taken from the caller without a result yet.
    waiting : deque of _Task
        Problems that no worker has had.
    retries : deque of _Task
        Problems whose worker died. Each is tried once more, in a fresh worker with no other one beside it: several large
        problems may have run out of memory together.
    n_failed_starts : int
        Workers in a row that died while they started.
    any_started : bool
        Whether any worker was ever ready for work.
    """

    def __init__(self, job: Job, on_result: OnResult, n_workers: int, threads: int) -> None:
        self.on_result, self.n_workers = on_result, n_workers
        self.n_unfinished, self.n_failed_starts, self.any_started = 0, 0, False
        self.waiting: deque[_Task] = deque()
        self.retries: deque[_Task] = deque()
        self.workers: list[_PoolWorker] = []
        self.inbox: Inbox = SimpleQueue()
        self.shown_warnings: dict[Any, Any] = {}  # Python notes here which warnings it has shown
        self.shared_arrays = SharedArrays()
        self.environment = {**dict.fromkeys(THREAD_VARIABLES, str(threads)), **os.environ}
        log = job.settings.get("log")
        self.log: Callable[[str], Any] | None = log.write if isinstance(log, TextIOBase) else log
        self.job_arrays: dict[Any, NDArray[Any]] = {}  # the shared arrays of the job, by token
        try:
            self.packed_job = self._pack(job.with_setting("log", None), self.job_arrays), self.log is not None
        except Exception as error:
            self.shared_arrays.close()
            raise OptionError(
                f"backend, keep or an option cannot be sent to a worker process ({error_text(error)}): use plain values and "
                "functions, or n_jobs=1."
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.kill()
        for worker in self.workers:
            worker.stop()
        self.shared_arrays.close()

    def add(self, index: int, item: Any) -> None:
        """Add a problem to those that are waiting."""
        task = _Task(index, item)
        self.n_unfinished += 1
        try:
            task.packed = self._pack(item, task.shared)
        except Exception as error:  # noqa: BLE001  pickling an object of the caller's can raise anything
            reason = f"problem {index} cannot be sent to a worker process ({error_text(error)}): use n_jobs=1."
            self._finish(task, False, DataError(reason))
        else:
            self.waiting.append(task)

    def step(self, *, wait: bool) -> bool:
        """Give work to free workers and handle one message.

        Parameters
        ----------
        wait : bool
            Whether to wait a moment for a message if there is none.

        Returns
        -------
        bool
            False if there was no message and ``wait`` is False.
        """
        self._assign_work()
        try:
            sender, (kind, *content) = self.inbox.get(timeout=POLL_SECONDS) if wait else self.inbox.get_nowait()
        except Empty:
            return wait
        worker = next((worker for worker in self.workers if worker is sender), None)
        if worker is None:
            return True  # a message from a worker that was stopped meanwhile
        if kind == "ready":
            worker.is_ready = self.any_started = True
            self.n_failed_starts = 0
        elif kind == "log" and self.log is not None:
            self.log(*content)
        elif kind == "refused":
            if not self.any_started:
                raise OptionError(*content)
            # Other workers could load the job. The exit of this one follows, and counts as a failed start.
        elif kind == "result":
            self._read_result(worker.end_task(), *content)
        else:  # WORKER_EXITED, or UNREADABLE: a worker that sends what cannot be read is stopped
            self._on_worker_exit(worker)
        return True

    def _pack(self, value: Any, shared: dict[Any, NDArray[Any]]) -> Packed:
        return pack(value, lambda thing: self.shared_arrays.share(thing, shared))

    def _assign_work(self) -> None:
        """Give waiting problems to free workers, and start workers that are missing."""
        if self.retries:
            self._assign_retry()
            return
        if any(worker.task is not None and worker.task.worker_died for worker in self.workers):
            return  # a retry is running
        for worker in self.workers:
            if self.waiting and worker.is_ready and worker.task is None:
                worker.start_task(self.waiting.popleft())
        if self.n_failed_starts >= MAX_FAILED_STARTS and any(worker.is_ready for worker in self.workers):
            return  # go on with the workers that are left
        n_starting = sum(not worker.is_ready for worker in self.workers)
        for _ in range(min(len(self.waiting) - n_starting, self.n_workers - len(self.workers))):
            self._start_worker()

    def _assign_retry(self) -> None:
        """Give the first retry to a fresh worker, alone. The other workers are kept until the fresh one has started."""
        if any(worker.task is not None for worker in self.workers):
            return
        fresh = [worker for worker in self.workers if worker.is_unused]
        if not fresh:
            self._start_worker()
        elif chosen := next((worker for worker in fresh if worker.is_ready), None):
            for worker in [worker for worker in self.workers if not worker.is_unused]:
                self.workers.remove(worker)
                worker.stop()
            chosen.start_task(self.retries.popleft())

    def _start_worker(self) -> None:
        try:
            self.workers.append(_PoolWorker(self.packed_job, self.inbox, self.environment))
        except OSError as error:  # too many processes, or too little memory for one more
            self._on_failed_start(f"could not be started ({error_text(error)})")

    def _read_result(self, task: _Task, packed: Packed) -> None:
        try:
            succeeded, value, caught = unpack(
                packed, lambda token: task.item if token == PROBLEM_TOKEN else task.shared[token]
            )
            for message, category, filename, line in caught:
                warnings.warn_explicit(message, category, filename, line, registry=self.shown_warnings)
        except Exception as error:  # noqa: BLE001  the result cannot be loaded here, or a filter turns a warning into an error
            succeeded, value = False, error
        self._finish(task, succeeded, value)

    def _finish(self, task: _Task, succeeded: bool, value: Any) -> None:
        self.n_unfinished -= 1
        self.shared_arrays.release(task.shared.values())
        self.on_result(task.index, task.item, succeeded, value)

    def _on_worker_exit(self, worker: _PoolWorker) -> None:
        """Handle the death of a worker: its problem is tried once more, and fails if its worker dies again."""
        task = worker.task
        self.workers.remove(worker)
        worker.stop(grace=SECONDS_TO_END)
        how = worker.describe_exit()
        if not worker.is_ready:
            self._on_failed_start(f"{how} before it could take work")
        elif task is not None and task.worker_died:
            reason = (
                f"the worker process of problem {task.index} {how}. It was the second attempt, and no other problem ran "
                "beside it. If it ran out of memory, make the problem smaller; if not, save it with problem.save(path) and "
                "report it, or try another backend. The other problems are not affected."
            )
            self._finish(task, False, SolverError(reason))
        elif task is not None:
            task.worker_died = True
            self.retries.append(task)

    def _on_failed_start(self, how: str) -> None:
        """Handle a worker that did not start: after some in a row, a problem that only such a worker could take fails."""
        self.n_failed_starts += 1
        if self.n_failed_starts < MAX_FAILED_STARTS or any(not worker.is_ready for worker in self.workers):
            return  # another one is starting, or will be started
        hint = "use n_jobs=1, or read what it printed on standard error."
        if not self.any_started:
            raise SolverError(f"a worker process {how}: {hint}")
        queue = self.retries or self.waiting
        if self.retries or (queue and not self.workers):
            task = queue.popleft()
            reason = (
                f"problem {task.index} has no worker process: {self.n_failed_starts} in a row did not start, and the last "
                f"{how}. The results of other problems are kept. For this one {hint}"
            )
            self._finish(task, False, SolverError(reason))
