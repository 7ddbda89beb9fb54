"""Records every Dask client of tasks whose DAGs do not ask for a recording.

With `record_every_client` in section `[dask_blackbox]`, Airflow calls `watch` in a task's
process before the task begins.  Nothing is imported or started until the task imports Dask
and makes a client: then a recording begins, and it ends with the task.  A `LocalCluster`
works in such a task as it does in a `DaskObservedOperator`.
"""

from __future__ import annotations

import asyncio
import functools
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from subprocess import CalledProcessError
from types import TracebackType
from typing import Any, Final, Self

from dask_blackbox.guard import guard
from dask_blackbox.patterns import bounded

from airflow_dask_blackbox.compat import conf
from airflow_dask_blackbox.containers import pass_on, starts_container
from airflow_dask_blackbox.dask_log import DaskLines, folded_dask_log
from airflow_dask_blackbox.identity import parameters_of
from airflow_dask_blackbox.import_hooks import after_import
from airflow_dask_blackbox.results import ResultError, refused_result
from airflow_dask_blackbox.selection import OPT_OUT, TaskSelection
from airflow_dask_blackbox.shipping import (
    hidden_main,
    shipped_by_value,
    unimportable_module_of,
)
from airflow_dask_blackbox.stores import TaskStore
from airflow_dask_blackbox.task_recording import TaskRecording

__all__ = ["is_switched_on", "watch"]

_OURS: Final = "airflow_dask_blackbox."
_MAY_RUN_PYTHON: Final = bounded(
    r"\b(?:python[\d.]*|dask|uv|pixi|poetry|conda)\b|\.py\b"
)
_LONGEST_LINE = 4_000
"""Characters of a line of a command's output that are kept for its verdict."""


def is_switched_on() -> bool:
    """Return whether every Dask client of every task is to be recorded."""
    return bool(conf.getboolean("dask_blackbox", "record_every_client", fallback=False))


def watch(ti: object) -> None:
    """Record the Dask clients that a task makes, if it makes any.

    Args:
        ti: The task instance that is about to run in this process.
    """
    task = getattr(ti, "task", None)
    if task is None or hasattr(task, "dask_card"):  # it records by itself
        return
    if type(task).__module__.startswith(_OURS):
        return
    if OPT_OUT in (getattr(task.dag, "tags", None) or ()):
        return
    if not TaskSelection.configured().takes(task):
        return
    if _is_command(task):
        recorded = _recorded_command
    elif starts_container(task):
        recorded = _passed_on
    elif _is_of_another_python(task):
        recorded = _recorded_elsewhere
    else:
        recorded = _recorded_callable
    task.execute = recorded(task, task.execute)


async def _print_fewer_warnings(client: Any) -> None:
    """Limit what worker processes print that were started in this process."""
    from distributed import LocalCluster, Nanny

    workers = getattr(client.cluster, "workers", None) or {}
    if isinstance(client.cluster, LocalCluster) and any(
        isinstance(each, Nanny) for each in workers.values()
    ):
        from airflow_dask_blackbox.worker_log import FewerWarnings

        await client.register_plugin(FewerWarnings())


def _code_of(task: object) -> Callable[..., object] | None:
    """Return the user's code of a task: its callable, or a method of its operator's class."""
    given: Callable[..., object] | None = getattr(task, "python_callable", None)
    methods = (getattr(type(task), name, None) for name in ("execute", "poke"))
    own = (
        each
        for each in methods
        if callable(each) and not each.__module__.startswith("airflow.")
    )
    return given if given is not None else next(own, None)


def _is_command(task: object) -> bool:
    return hasattr(task, "bash_command") and hasattr(task, "get_env")


def _is_of_another_python(task: object) -> bool:
    """Return whether a task's callable runs in a process of another Python environment."""
    names = ("python_callable", "inherit_env", "env_vars")
    return all(hasattr(task, name) for name in names)


def _recorded_callable(
    task: Any, execute: Callable[..., object]
) -> Callable[..., object]:
    @functools.wraps(execute)
    def observed(context: Mapping[str, Any]) -> Any:
        task_run = _TaskRun(task, context)
        with ExitStack() as stack:
            with guard("recording the Dask clients of this task"):
                stack.enter_context(folded_dask_log(task.log))
                stack.enter_context(_works_on_workers(task))
                stack.enter_context(_recorded_clients(task, task_run))
            value = execute(context)
            task_run.returned(value)
            return value

    return observed


@contextmanager
def _works_on_workers(task: Any) -> Iterator[None]:
    """Make Dask work in a task, whose module its workers cannot import."""
    module = unimportable_module_of(_code_of(task) or type(task))

    def prepare() -> None:
        stack.enter_context(shipped_by_value(module))

    with ExitStack() as stack, hidden_main(), after_import("distributed", prepare):
        yield


@contextmanager
def _recorded_clients(task: Any, task_run: _TaskRun) -> Iterator[None]:
    """Record the clients that are made in the block, from the first one on."""
    kill = task.on_kill

    def on_kill() -> None:
        task_run.abort()
        kill()

    task.on_kill = on_kill
    with (
        ExitStack() as stack,
        task_run,
        after_import("distributed", lambda: task_run.listen(stack)),
    ):
        yield


class _TaskRun:
    """The recording of a task that may turn out to use no Dask at all."""

    def __init__(self, task: Any, context: Mapping[str, Any]) -> None:
        self._task, self._context = task, context
        self._recorded: TaskRecording | None = None
        self._refused: ResultError | None = None
        self._lock = threading.Lock()
        self._thread = threading.get_ident()

    def listen(self, stack: ExitStack) -> None:
        """Watch for clients of this process until the stack is closed."""
        from dask_blackbox.driver import own_clients

        own_clients.listen(self._recording_of)
        stack.callback(own_clients.unlisten, self._recording_of)

    async def _recording_of(self, client: Any) -> Any:
        """Return the recording that a client of this process belongs to."""
        from airflow_dask_blackbox.clusters import is_owned, refuse_secrets_on_workers

        if is_owned(client):
            # Its workers have the task's environment, in which Airflow cannot be imported.
            with guard("refusing Airflow's variables on workers"):
                await refuse_secrets_on_workers(client)
        with guard("fewer warnings of workers in the task's log"):
            await _print_fewer_warnings(client)
        return await asyncio.to_thread(self._begun)

    def _begun(self) -> Any:
        with self._lock:
            if self._recorded is None:
                recorded = recording_of(self._task, self._context)
                recorded.driver_thread = self._thread
                self._recorded = recorded.__enter__()
            return self._recorded.recording

    def returned(self, value: object) -> None:
        """Record that Airflow cannot store the task's result, if so."""
        if self._recorded is None or not self._task.do_xcom_push:
            return
        # Airflow raises its own.
        self._refused = refused_result(value, _code_of(self._task) or type(self._task))

    def abort(self) -> None:
        """End the recording as stopped."""
        if self._recorded is not None:
            self._recorded.abort()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._recorded is None:
            return
        self._recorded.__exit__(kind, error or self._refused, trace)
        self._recorded.show()


def recording_of(
    task: Any, context: Mapping[str, Any], *, command: list[str] | None = None
) -> TaskRecording:
    """Return the recording of a task that does not ask for one itself.

    Args:
        task: The task.
        context: Of its run.
        command: What it runs, if its work is done in other processes.
    """
    return TaskRecording(
        context,
        function=_code_of(task),
        job=None,
        store=TaskStore(),
        parameters=parameters_of(context, getattr(task, "op_kwargs", None) or {}),
        required=False,
        log=task.log,
        command=command,
    )


def _recorded_command(task: Any, execute: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(execute)
    def observed(context: Mapping[str, Any]) -> Any:
        with ExitStack() as stack:
            task.get_env = _recorded_environment(task, task.get_env, stack)
            return execute(context)

    return observed


def _recorded_environment(
    task: Any, get_env: Callable[..., dict[str, str]], stack: ExitStack
) -> Callable[..., dict[str, str]]:
    """Return what gives a command's environment, and starts its recording.

    Airflow asks for it just before the command starts: that of `@task.bash` is what a
    function has returned by then, and templates are rendered.
    """

    def environment(context: Mapping[str, Any]) -> dict[str, str]:
        given = get_env(context)
        command = str(task.bash_command)
        if _MAY_RUN_PYTHON.search(command):
            with guard("recording the Dask clients of this command"):
                recording = _start_recording(task, context, command, stack)
                return {**given, **_recorder_variables(recording, task.env or {})}
        return given

    return environment


def _start_recording(
    task: Any, context: Mapping[str, Any], command: str, stack: ExitStack
) -> Any:
    """Start the recording of a command, which ends with the stack."""
    recorded = recording_of(task, context, command=["bash", "-c", command])
    output = _CommandOutput(task.subprocess_hook.log)
    stack.callback(output.show_dasks)
    task.subprocess_hook._log = output  # noqa: SLF001 - Airflow prints each line there

    def exit_code() -> int | None:
        process = task.subprocess_hook.sub_process
        return None if process is None else process.returncode

    recorded.exit_code, recorded.output = exit_code, output.kept.lines
    kill = task.on_kill

    def on_kill() -> None:
        recorded.abort()
        kill()

    task.on_kill = on_kill
    stack.callback(recorded.show)
    stack.enter_context(recorded)
    return recorded.recording


class _CommandOutput:
    """The logger of a command's hook, which keeps the first and last lines of the output.

    Of these, Dask's own below WARNING are printed at the command's end.

    Attributes:
        kept: Those lines, each with the time at which it was read.
    """

    def __init__(self, log: Any) -> None:
        self._log = log
        from dask_blackbox.driver.kept_lines import KeptLines

        self.kept = KeptLines()
        self._dasks = DaskLines()

    def info(self, event: str, *args: object) -> None:
        """Log a message; a line of the output has no text of Airflow's around it."""
        if event == "%s" and args:
            line = str(args[0])
            self.kept.add(time.time(), line[:_LONGEST_LINE])
            if self._dasks.add_if_dasks(line):
                return
        self._log.info(event, *args)

    def show_dasks(self) -> None:
        """Print Dask's own lines, in a fold."""
        with guard("Dask's own log in the task's"):
            self._dasks.show(self._log)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)


def _recorded_elsewhere(task: Any, execute: Callable[..., Any]) -> Callable[..., Any]:
    """Have what a `@task.virtualenv` or `@task.external_python` does with Dask recorded."""

    @functools.wraps(execute)
    def observed(context: Mapping[str, Any]) -> Any:
        with ExitStack() as stack:
            with guard("recording the Dask clients of this task's Python"):
                command = [_python_of(task), task.python_callable.__name__]
                recorded = recording_of(task, context, command=command)
                recorded.exit_code, recorded.output = _exit_code, tuple
                stack.callback(recorded.show)
                stack.enter_context(recorded)
                given = task.env_vars or {}
                ours = _recorder_variables(recorded.recording, given)
                task.env_vars = {**given, **ours}
            return execute(context)

    return observed


def _passed_on(task: Any, execute: Callable[..., Any]) -> Callable[..., Any]:
    """Have a pod or a container know of which task its recordings are."""

    @functools.wraps(execute)
    def observed(context: Mapping[str, Any]) -> Any:
        with guard("passing this task on to its pod or container"):
            pass_on(task, context["ti"])
        return execute(context)

    return observed


def _python_of(task: Any) -> str:
    return str(getattr(task, "python", None) or "python")


def _exit_code() -> int | None:
    """Return that of the process whose failure is being handled: Airflow's error has none."""
    error = sys.exception()
    while error is not None and not isinstance(error, CalledProcessError):
        error = error.__context__
    return None if error is None else error.returncode


def _recorder_variables(recording: Any, given: Mapping[str, str]) -> dict[str, str]:
    """Return variables by which a command's clients record themselves; not the task's own."""
    import os

    from dask_blackbox.autorecord.command import environment_for

    if recording is None or not recording.control:
        return {}
    ours = environment_for(recording.control, recording.id)
    return {
        name: text
        for name, text in ours.items()
        if name not in given and os.environ.get(name) != text
    }
