"""Does a task wait for other tasks, and hold the thread that they need?"""

from __future__ import annotations

from collections.abc import Iterator

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.hang import AtWork, Hang
from dask_blackbox.analyse.hang_evidence import (
    evidence_of_hang,
    evidence_of_stack,
    how_it_ended,
)
from dask_blackbox.analyse.rule import Page, Rule
from dask_blackbox.analyse.words import counted, quoted, short
from dask_blackbox.finding import Finding, Subject

__all__ = ["NESTED_CLIENT_DEADLOCK"]

_CLIENT = "distributed/client.py"
_SYNC = "distributed/utils.py"
_INSIDE = "Client-worker-"
_SECEDED = "long-running"


def _ask(case: Case) -> Iterator[Finding]:
    hang = case.hang
    if hang is None:
        return
    waiting = _waiting_in_a_client(case, hang)
    held = [task for task in hang.tasks if task.executing_for is None]
    if not waiting or not (held or hang.states.get("queued")):
        return
    # The longest: the one that began it.
    first, frame = waiting[0], waiting[0].own_frame
    behind = quoted([task.key for task in held], most=2) if held else "queued tasks"
    inner = _sent_from_tasks(case)
    of = f" of {quoted(inner)}" if inner else ""
    many = counted(len(waiting), f"task of '{short(first.prefix, 40)}'", "tasks")
    workers = {task.worker for task in waiting}
    of_whom = "of that worker" if len(workers) == 1 else f"of {len(workers)} workers"
    yield NESTED_CLIENT_DEADLOCK.found(
        f"'{short(first.prefix, 40)}' waits for tasks that need the thread it holds",
        cause=(
            f"'{short(first.key, 80)}' on {case.name_of(first.worker)} waits inside of "
            f"itself for the result of other tasks{of}"
            f"{f', at {frame}' if frame else ''}. Every thread {of_whom} is taken by "
            f"a task that waits like this ({many} in all), so {behind} cannot start. "
            f"{how_it_ended(case, hang)}"
        ),
        remedy=(
            "Wait inside `with worker_client() as client:`, which gives the thread back "
            "meanwhile unless it is told `separate_thread=False` (or call `secede()` before waiting and `rejoin()` after it); or let "
            "the driver submit the inner tasks. More threads only move the deadlock."
        ),
        confidence=case.sure_of_the_hang,
        subject=Subject(key=first.key, prefix=first.prefix, worker=first.worker),
        evidence=(*evidence_of_stack(case, first), *evidence_of_hang(case, hang)),
    )


def _sent_from_tasks(case: Case) -> list[str]:
    """Return the prefixes of what clients inside of tasks had sent."""
    inner = [
        fact["new"]
        for fact in case.run.details("graph-updated")
        if fact["subject"].startswith(_INSIDE) and fact.get("new")
    ]
    return list(dict.fromkeys(prefix for new in inner for prefix in new))


def _waiting_in_a_client(case: Case, hang: Hang) -> list[AtWork]:
    """Return the tasks that wait in a client, on workers that have no other thread."""
    lives = case.run.workers.select("address", "nthreads").drop_nulls()
    threads = dict(lives.iter_rows())
    busy: dict[str, list[AtWork]] = {}
    for task in hang.executing:
        if task.state != _SECEDED:
            busy.setdefault(task.worker, []).append(task)
    return [
        task
        for worker, tasks in busy.items()
        if len(tasks) >= threads.get(worker, 1)
        and all(_waits_in_a_client(task) for task in tasks)
        for task in tasks
    ]


def _waits_in_a_client(task: AtWork) -> bool:
    through = [frame for frame in task.beyond if frame.file.endswith(_CLIENT)]
    syncs = any(
        frame.file.endswith(_SYNC) and frame.function.endswith("sync")
        for frame in task.beyond
    )
    # `for future in as_completed(…)` waits by itself.
    iterates = any(frame.function == "__next__" for frame in through)
    return bool(through) and (syncs or iterates)


NESTED_CLIENT_DEADLOCK = Rule(
    slug="nested-client-deadlock",
    title="A task waits for tasks that need its own thread",
    question="Does a task wait for the results of other tasks without giving its thread back?",
    severity="failure",
    retry_advice="code",
    ask=_ask,
    page=Page(
        detects=(
            "A task got a client (`get_client()`), submitted tasks and waits for their "
            "results, but keeps its thread. As soon as every thread of a worker is taken "
            "by such a task, the inner ones never start. Nothing is raised."
        ),
        evidence=(
            "The stacks that the stall detector asked the workers for: below the user's own "
            "line the task is in Dask's client, in a synchronous wait; other tasks on that "
            "worker are not executing. Silent where another thread of the worker is free or at work, "
            "and for tasks that gave their thread back (`secede`, `worker_client`)."
        ),
        remedy="Wait inside `worker_client()`.",
        before="def outer(x):\n    return get_client().submit(inner, x).result()",
        after=(
            "def outer(x):\n    with worker_client() as client:\n"
            "        return client.submit(inner, x).result()"
        ),
    ),
)
