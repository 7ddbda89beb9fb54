"""Workers that did not start, did not arrive, or could not run a task."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import NamedTuple, TypedDict

import polars as pl

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.death_texts import how_died
from dask_blackbox.analyse.driver_host import ShortHost, short_host_of_driver
from dask_blackbox.analyse.driver_output import (
    Preload,
    PrintedFailure,
    last_preload,
)
from dask_blackbox.analyse.driver_position import DriverPosition, evidence_of_position
from dask_blackbox.analyse.explanations import error_text, hint_on, printed_error
from dask_blackbox.analyse.facts.units import units_of
from dask_blackbox.analyse.frames import (
    Frame,
    at_frame,
    came_from_the_start_of_a_worker,
    code_of,
    raised_on_purpose,
    root_of_chain,
    user_frame,
)
from dask_blackbox.analyse.hang_texts import (
    evidence_of_hang,
    how_it_ended,
    wanted_tasks,
)
from dask_blackbox.analyse.offers import is_local
from dask_blackbox.analyse.restrictions import (
    NAMES_ARE_ADDRESSES,
    asks_for,
    offered,
    restrictions_in,
    to_start,
)
from dask_blackbox.analyse.rule import documented
from dask_blackbox.analyse.side_effects import (
    brief_command,
    death_timeout_of,
    program_exit_text,
)
from dask_blackbox.analyse.signatures import any_of, lines_of
from dask_blackbox.analyse.signatures.distributed import (
    CLUSTER_FAILED_TO_START,
    CONNECT_TIMED_OUT,
    HOST_NOT_RESOLVED,
    NANNY_CLOSING,
    NANNY_EXIT_STATUS,
    NANNY_PLUGIN_FAILED,
    NANNY_STARTED,
    NO_WORKER_FOR_TASK,
    NO_WORKER_TO_SCATTER_TO,
    PROCESS_FAILED_TO_START,
    START_TIMED_OUT,
    WORKER_LISTENS,
    WORKER_PLUGIN_FAILED,
    WORKER_WAITS_TO_CONNECT,
    WORKERS_DID_NOT_ARRIVE,
)
from dask_blackbox.analyse.signatures.python import (
    ARGUMENT_UNKNOWN_TO_PROCESS,
    DAEMON_HAS_NO_CHILDREN,
    STARTED_BEFORE_MAIN,
)
from dask_blackbox.analyse.standstills import Hang
from dask_blackbox.analyse.worker_starts import (
    COMMAND,
    NAME_TAKEN,
    REGISTERING,
    ends_of_commands,
    failed_commands,
    host_of,
    is_unresolved,
    lines_on_starts,
    port_of,
    port_text,
    root_of_start,
    started_for_another,
)
from dask_blackbox.events import (
    DriverAttached,
    DriverCallFailed,
    DriverRaised,
    GraphUpdated,
    ProcessAncestors,
    RestrictedTask,
    SchedulerInfo,
    WorkerAdded,
    WorkerStarting,
)
from dask_blackbox.finding import (
    Confidence,
    Evidence,
    Finding,
    RetryAdvice,
    Subject,
)
from dask_blackbox.formatting import (
    class_of,
    code_line,
    counted,
    duration,
    listed,
    quoted,
    quoted_key,
    short,
    short_with_paths,
    were,
)
from dask_blackbox.manifest import DriverException
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import epoch
from dask_blackbox.tables.schemas import Row

# worker-start-failed


_REGISTERED = bounded(
    r"\bregister_(?:worker_)?plugin\((?:[\w.]+\.)?(?P<name>[A-Z]\w*)\("
)

_UNIQUE = bounded(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
"""Dask makes names of plugins unique, which says nothing to people."""

_OF_SCHEDULER = bounded(r"dask[ -]scheduler|dask_scheduler\.py")
_OF_ROLE = bounded(
    r"dask[ -](?:scheduler|worker|spec)|dask_(?:scheduler|worker|spec)\.py"
)

_PRELOADING = "distributed/preloading.py"
"""Part of a frame in which Dask imports, or sets up, a preload."""

_WAITED_FOR_WORKER = "in _wait_until_connected\n"


@documented("worker-start-failed")
def WORKER_START_FAILED(case: Case) -> Iterator[Finding]:
    if not case.failed or case.blame.failure is not None:
        return
    exception, lines = case.exception, lines_on_starts(case)
    if exception is not None and any(x in exception.traceback for x in REGISTERING):
        yield from _plugin_findings(case, lines)
        return
    failed = case.search_exception(PROCESS_FAILED_TO_START.pattern)
    if failed is None and (found := _start_by_the_driver(case)) is not None:
        yield found
    elif failed is not None and (place := _unguarded_call(case)) is not None:
        yield _main_module_finding(case, place, lines)
    elif failed is not None or _has_lines_on_missing(case, lines):
        yield _process_finding(case, failed, lines)


def _unguarded_call(case: Case) -> str | None:
    """Return where the main module starts the job on every import, if it does."""
    places = [each.unguarded for each in case.run.of(DriverAttached)]
    # A process that was spawned to be a worker, and came to the call itself.
    places += [
        code_line(each)
        for each in case.run.of(DriverRaised)
        if STARTED_BEFORE_MAIN.search(each.traceback or "") and each.file
    ]
    return next(filter(None, places), None)


def _has_lines_on_missing(case: Case, lines: list[Row]) -> bool:
    """Return whether workers are missing, and lines on starts say why."""
    lacked = case.lacked_workers or _failed_before_deaths(case, lines)
    return bool(lines) and lacked and not started_for_another(case)


def _process_finding(
    case: Case, failed: re.Match[str] | None, lines: list[Row]
) -> Finding:
    """Return that a process of the cluster did not start, with what its lines say.

    Args:
        failed: What Dask raised for that.
    """
    who = failed["who"].lower().replace("nanny", "worker") if failed else "worker"
    root = root_of_start(case, lines)
    evidence = (*map(case.line_evidence, lines[-3:]), *case.exception_evidence())
    short_host = _short_host_of_start(case, lines) if root is None else None
    if short_host is not None:
        return WORKER_START_FAILED.found(
            f"A {who} did not start in time: {short_host.title}",
            cause=f"{_cause(case, who, root, lines)} {short_host.text}",
            remedy=f"{short_host.remedy} {_MORE_TIME}",
            confidence="medium",
            retry_advice=None if short_host.by_run else "transient",
            evidence=(short_host.evidence, *evidence),
        )
    return WORKER_START_FAILED.found(
        _start_title(who, root, _preload(case, lines)),
        cause=_cause(case, who, root, lines),
        remedy=_remedy_worker_start_failed(case, who, root),
        confidence="high" if failed and root else "medium",
        **_retry_of_start(root[1] if root else ""),
        evidence=evidence,
    )


_MORE_TIME = (
    "Or give workers more time to start (`death_timeout=` of the cluster, `--death-timeout` of "
    "`dask worker`)."
)


def _short_host_of_start(case: Case, lines: list[Row]) -> ShortHost | None:
    """Return what the driver's host was short of, if a start there had timed out."""
    texts = [str(line["message"]) for line in lines]
    timed_out = any(any_of(text, START_TIMED_OUT) for text in texts)
    if not timed_out and not case.search_exception(r"\bTimeoutError\b"):
        return None
    decided = case.outcome.decided_at
    waits = any(map(_waits_for, _still_starting(case)))
    preload = None if decided is None else _begun_preload(case, decided)
    if waits or preload is not None or started_for_another(case):
        return None  # then it waited for something else
    return short_host_of_driver(case, decided)


def _failed_before_deaths(case: Case, lines: list[Row]) -> bool:
    """Return whether workers did not arrive, and a start failed before the first of others died.

    A command that starts several workers ends all of them when one does not start.
    """
    if not case.raised("WorkerStartTimeoutError") or not lines:
        return False
    died = min((each.at for each in case.deaths), default=math.inf)
    return bool(lines[0]["at"].timestamp() < died)


def _start_title(who: str, root: tuple[str, str] | None, preload: Frame | None) -> str:
    if root is None:
        return f"A {who} failed to start"
    text = error_text(*root)
    if preload is None:
        return f"A {who} failed to start: {text}"
    where = code_line(preload, name_only=True)  # of a copy, in the worker's own folder
    return f"A {who} failed to start: {text} in its preload, {where}"


def _by_its_job(case: Case) -> Finding | None:
    """Return that jobs ended before their workers had joined, with what their logs say."""
    failed = [
        unit
        for unit in units_of(case.run).missing
        if unit.over
        and unit.log is not None
        and unit.word == "job"
        and not unit.pending
    ]
    log = failed[-1].log if failed else None
    lines = [line for line in log.lines if line.strip()] if log is not None else []
    if log is None or not lines or not case.lacked_workers:
        return None
    last = failed[-1]
    code = last.state.exit_code
    jobs = f"{last.manager} {counted(len(failed), 'job')}"
    exited = f" with exit code {code}" if code else ""
    said, before = _on_a_module(lines)
    return WORKER_START_FAILED.found(
        f"Workers did not start: {short(said, 120)}",
        cause=f"{jobs} ended{exited} before a worker had joined. The last line of the log "
        f"of job {last.id} ({log.path}): “{short(lines[-1], 300)}”.{before}",
        remedy="Correct what the job runs: the interpreter (`python=`) and modules "
        "(`job_script_prologue=`) must be there on the nodes, and the interpreter must have "
        "`distributed`. `print(cluster.job_script())` shows the job.",
        confidence="high",
        retry_advice="environment",
        evidence=(
            Evidence(
                text=short("\n".join(lines[-3:]), 400), source="events", at=log.at
            ),
            *case.exception_evidence(),
        ),
    )


def _on_a_module(lines: list[str]) -> tuple[str, str]:
    """Return the line of a job's log that says why it failed, and a sentence on an earlier one.

    A script goes on without a module, and ends because it lacks what that would have brought.
    """
    module = next((line for line in lines[:-1] if _MODULE_FAILED.search(line)), None)
    if module is None:
        return lines[-1], ""
    return _OF_SCRIPT.sub("", module), f" Before that: “{short(module, 300)}”."


_MODULE_FAILED = bounded(
    r"\bmodule: (?:command )?not found\b|\b[Uu]nable to locate a modulefile\b"
    r"|[Ff]ollowing module\(s\) (?:are unknown|cannot be loaded)|\bmodule file .{1,200} not found"
)
"""What `module load` says where it fails."""
_OF_SCRIPT = bounded(r"^\S{1,400}: line \d{1,6}: ")
"""What a shell puts before its own messages: the script and its line."""


def _start_by_the_driver(case: Case) -> Finding | None:
    """Return what the driver could not start, in its own process or by a command."""
    exception = case.exception
    if exception is not None and case.outcome.kind == "exception":
        if CLUSTER_FAILED_TO_START.search(exception.message):
            return _cluster_finding(exception, case.exception_evidence())
        if not case.raised("CancelledError") and came_from_the_start_of_a_worker(
            exception.traceback
        ):
            return _cluster_object_finding(exception, case.exception_evidence())
    ended = _ended_command(case)
    if ended is None:
        return _by_its_job(case)
    return _given_up_finding(case, ended) or _command_finding(case, ended)


def _ended_command(case: Case) -> PrintedFailure | None:
    """Return the end of a command of Dask's that the run itself had started, and waited for."""
    unreached = case.search_exception(CONNECT_TIMED_OUT.pattern)
    if unreached and case.recorded_cluster:
        return None
    waited = bool(unreached) or case.lacked_workers or _never_connected(case)
    waited = waited or (not len(case.run.workers) and bool(failed_commands(case)))
    if not waited and not _raised_by_a_command(case):
        return None
    return next(ends_of_commands(case), None)


def _never_connected(case: Case) -> bool:
    """Return whether a client of the driver failed as it connected, and no cluster was reached."""
    connecting = case.search_exception(r"in _ensure_connected\n")
    return bool(connecting) and not case.recorded_cluster


def _raised_by_a_command(case: Case) -> bool:
    """Return whether what ended a process of the run was no exception of the job's own code."""
    exception = case.exception
    return exception is not None and bool(COMMAND.search(exception.traceback))


def _given_up_finding(case: Case, ended: PrintedFailure) -> Finding | None:
    """Return that a nanny gave up a worker that was still starting; None if it did not.

    Dask raises another exception as it then closes; the first one of that traceback is the reason.
    """
    took = _given_up_after(case) if _WAITED_FOR_WORKER in ended.traceback else None
    if took is None:
        return None
    patience = next(
        filter(None, (death_timeout_of(e.command) for e in failed_commands(case))), ""
    )
    limit = f"`--death-timeout {patience}`" if patience else "its `death_timeout`"
    preload = _begun_preload(case, ended.at)
    setup = f"`dask_setup` of {short(preload.module, 60)}" if preload else ""
    where = f", still in {setup}" if setup else ""
    begun = f" It had begun {setup}, and no line shows its end." if setup else ""
    look = f"what {setup} waits for" if setup else "imports from a shared file system"
    # In its setup, a worker may wait for something else.
    short_host = None if setup else short_host_of_driver(case, ended.at)
    if short_host is not None:
        where, begun = f": {short_host.title}", f" {short_host.text}"
    lines = lines_of(case.run, NANNY_CLOSING).tail(1).to_dicts()
    return WORKER_START_FAILED.found(
        f"A worker was given up {duration(took)} after its start ({limit}){where}",
        cause=(
            "A worker's command, which the run itself had started, gave up its worker "
            f"{duration(took)} after its start, by {limit}: the worker's process had not "
            f"reported to its nanny.{begun} As the command closed, Dask raised "
            f"{short(ended.text, 120)}."
        ),
        remedy=(
            "Give workers more time to start (`--death-timeout`, or `death_timeout` of the "
            f"cluster), or make the start faster: look at {look}."
            if short_host is None
            else f"{short_host.remedy} {_MORE_TIME}"
        ),
        confidence="high" if setup else "medium",
        evidence=(
            *(() if short_host is None else (short_host.evidence,)),
            *map(case.line_evidence, lines),
            case.output_evidence(ended, " or that of its programs"),
            *case.exception_evidence(),
        ),
    )


def _given_up_after(case: Case) -> float | None:
    """Return how long after its start a nanny gave up its worker, in seconds, if one did."""
    began: dict[str, float] = {}
    waited: list[float] = []
    lines = lines_of(case.run, NANNY_STARTED, NANNY_CLOSING)
    for at, text in lines.select(epoch("at"), "message").iter_rows():
        if started := NANNY_STARTED.search(text):
            began[started["address"]] = at
        elif closing := NANNY_CLOSING.search(text):
            gave_up = closing["reason"].startswith("failure-to-start")
            if gave_up and closing["address"] in began:
                waited.append(at - began[closing["address"]])
    return max(waited, default=None)


def _command_finding(case: Case, ended: PrintedFailure) -> Finding:
    asked = ended.program or ended.traceback
    if not _OF_ROLE.search(asked):  # what ended as it was imported shows no role
        asked = "\n".join(each.command for each in failed_commands(case))
    who = "scheduler" if _OF_SCHEDULER.search(asked) else "worker"
    command = f"`{ended.program}`" if ended.program else f"A {who}'s command"
    known = [e for e in failed_commands(case) if f"dask {who}" in e.command]
    if not ended.program and len(known) == 1:
        command += f" (`{short(brief_command(known[0].command), 120)}`)"
    frame = user_frame(ended.traceback)
    look = (
        f"Look at {code_line(frame)}, which runs as the {who} starts"
        if frame
        else f"Correct how the run starts its {who}"
    )
    named = ended.message.endswith(NAME_TAKEN)
    hint = _NAMES if named else hint_on(ended.text)
    # Nothing shows that anything waited for it where its own exception ended the run.
    waited = "" if _raised_by_a_command(case) else " The driver waited for it."
    port = port_text(ended.message, who)
    return WORKER_START_FAILED.found(
        f"A {who} failed to start: {printed_error(ended)}",
        cause=(
            f"{command}, which the run itself had started, exited before it was ready: "
            f"{short(ended.text, 240).rstrip('.')}{at_frame(frame)}.{port}{waited}"
        ),
        remedy=f"{look}." + (f" {hint}" if hint else ""),
        confidence="high",
        evidence=(
            case.output_evidence(ended, " or that of its programs"),
            *case.exception_evidence(),
        ),
    )


def _plugin_findings(case: Case, lines: list[dict[str, object]]) -> Iterator[Finding]:
    exception = case.exception
    root = root_of_start(case, lines)
    if exception is None or root is None:
        return
    plugin = _registered(exception) or _plugin(lines)
    named = f"plugin '{short(plugin, 40)}'" if plugin else "worker plugin"
    frame = user_frame(exception.traceback)
    look = f" Look at {code_line(frame)}." if frame else ""
    yield WORKER_START_FAILED.found(
        f"The {named} failed in its setup: {error_text(*root)}",
        cause=(
            f"The driver registered the {named} on workers that were running, and its "
            f"`setup` raised {root[0]}: {short(root[1], 200)}{at_frame(frame)}. Workers "
            "that start later log such an error and run without the plugin."
        ),
        remedy=(
            "Fix the plugin's `setup`: it runs on every worker, with the worker's "
            f"files and packages instead of the driver's.{look}"
        ),
        confidence="high",
        evidence=(*map(case.line_evidence, lines[-3:]), *case.exception_evidence()),
    )


def _cluster_finding(
    exception: DriverException, evidence: tuple[Evidence, ...]
) -> Finding:
    """Return that the cluster object could not start its scheduler."""
    name, summary = _beginning(exception)
    where, what = user_frame(exception.traceback), f"{name}: {short(summary, 300)}"
    look = f"Look at {code_line(where)}, and at" if where else "Look at"
    hint = hint_on(summary)
    return WORKER_START_FAILED.found(
        f"The cluster failed to start: {error_text(name, summary)}",
        cause=(
            f"The cluster object started its scheduler in the driver, which raised {what}"
            f"{at_frame(where)}. No worker had started."
        ),
        remedy=_argument_hint(summary)
        or f"{look} the arguments and settings of the cluster: addresses, ports and "
        "folders must be usable on the host of the driver."
        + (f" {hint}" if hint else ""),
        confidence="high",
        **_retry_of_start(summary),
        evidence=evidence,
    )


def _beginning(exception: DriverException) -> tuple[str, str]:
    """Return class and message, in one line, of what an exception began with."""
    began = root_of_chain(exception.traceback)
    name, message = began or (exception.exception, exception.message)
    return class_of(name), " ".join(message.split())


def _cluster_object_finding(
    exception: DriverException, evidence: tuple[Evidence, ...]
) -> Finding:
    """Return that the cluster object could not start a worker, or submit a job for one."""
    name, summary = _beginning(exception)
    frame = user_frame(exception.traceback)
    return WORKER_START_FAILED.found(
        f"A worker failed to start: {error_text(name, summary)}",
        cause=(
            "The cluster object started its workers in the driver, and starting one raised "
            f"{name}: {short(summary, 300)}".rstrip(": ")
            + f"{at_frame(frame)}. The cluster closed the others."
        ),
        remedy=_hint_on_start(name, summary, exception.traceback)
        or (f"Look at {code_line(frame)}, and check" if frame else "Check")
        + (
            " what the batch system, the container service or the host reports about "
            "that worker: quotas, limits, the command that starts it."
        ),
        confidence="high",
        **_retry_of_start(summary),
        evidence=evidence,
    )


def _main_module_finding(
    case: Case, place: str, lines: list[dict[str, object]]
) -> Finding:
    name = place.rpartition("/")[2]
    return WORKER_START_FAILED.found(
        f"{name} runs again in each worker process: it has no main guard",
        cause=(
            f"Worker processes import the main module, which starts the job at {place} "
            "on every import. Each of them tried to start the cluster again, which "
            "Python refuses, and exited."
        ),
        remedy=f'Put the call at {place} under `if __name__ == "__main__":`.',
        confidence="high",
        retry_advice="code",
        retry_confidence="high",
        evidence=(
            Evidence(
                text=f'{place} is not under `if __name__ == "__main__":`',
                source="driver",
            ),
            *map(case.line_evidence, lines[-3:]),
            *case.exception_evidence(),
        ),
    )


def _registered(exception: DriverException) -> str | None:
    """Return the name of the plugin's class: as recorded, or from the driver's own line."""
    if exception.plugin:
        return class_of(exception.plugin)
    written = _REGISTERED.search(exception.traceback)
    return written["name"] if written else None


def _plugin(lines: list[Row]) -> str | None:
    for line in reversed(lines):
        found = any_of(line["message"], WORKER_PLUGIN_FAILED, NANNY_PLUGIN_FAILED)
        if found:
            return _UNIQUE.sub("", found["what"])
    return None


def _preload(case: Case, lines: list[Row]) -> Frame | None:
    """Return the line of a preload that raised as it was imported, or set up."""
    texts = [line["message"] for line in lines]
    if case.exception is not None:
        texts.append(case.exception.traceback)
    for text in texts:
        _, found, rest = text.rpartition(_PRELOADING)
        # A blank line ends what was raised first.
        if found and (frame := user_frame(rest.split("\n\n")[0])) is not None:
            return frame
    return None


_NAMES = (
    "Two workers have the same name: give each a unique `--name` or none, or end the worker "
    "that an earlier run left running."
)


def _cause(
    case: Case, who: str, root: tuple[str, str] | None, lines: list[dict[str, object]]
) -> str:
    began = f": {root[0]}: {short(root[1], 240)}" if root else ""
    sentences = [f"A {who} did not start{began}"]
    texts = [str(line["message"]) for line in lines]
    ended = next(filter(None, map(NANNY_EXIT_STATUS.search, reversed(texts))), None)
    if root is None and ended is not None:
        sentences.append(
            f"Its process ended with exit code {ended['status']} before it could report why. New "
            "worker processes import the main module again; if that import raises an "
            "exception, they exit like this"
        )
    if root is None and any(any_of(text, START_TIMED_OUT) for text in texts):
        sentences.append(
            "Its nanny waited until the timeout (`death_timeout`), and the process "
            "reported no error"
        )
    taken = case.exception.found.get("address", "") if case.exception else ""
    if root is not None and (port := port_text(root[1], who, taken)):
        sentences.append(port.strip(" ."))
    if preload := _preload(case, lines):
        sentences.append(f"A preload raised this error, at {preload}")
    if plugin := _plugin(lines):
        sentences.append(f"It failed in the plugin '{short(plugin, 60)}'")
    if not case.run.of(SchedulerInfo):
        sentences.append("There was no cluster to record")
    return ". ".join(sentences) + "."


def _remedy_worker_start_failed(
    case: Case, who: str, root: tuple[str, str] | None
) -> str:
    name, message = root or ("", "")
    text = f"{message} {case.exception.traceback if case.exception else ''}"
    if hosts := case.dialect.remedy(text):
        return hosts
    if hint := _hint_on_start(name, message, text):
        return hint
    if "in use" in message:
        return (
            f"Another process, or the driver itself, uses the {who}'s port: let Dask "
            "choose the port (`:0`), give a range (`--worker-port 40000:40100`), or "
            "end the process that an earlier run left running."
        )
    if name in ("ModuleNotFoundError", "ImportError"):
        return (
            "Install that module where the workers run, or remove it from `--preload` "
            "(`distributed.worker.preload`, `distributed.nanny.preload`)."
        )
    if root is None:
        return (
            "Read what the process printed to its standard error. Usual reasons are a "
            "preload that raises, a port or a folder that it cannot use, or a main "
            "module that starts the cluster again when the worker imports it (put that "
            'under `if __name__ == "__main__":`).'
        )
    return (
        "Fix that error, and test the fix where workers run: `python -c 'import …'` "
        "for a preload, or `setup` of a plugin on one worker."
    )


_DAEMON_STARTS_A_CLUSTER = (
    "The process that creates the cluster is a daemon of `multiprocessing` (a pool's, a Celery "
    "worker's, or one with `daemon=True`), which may not start processes: create the cluster in "
    "a process that is none, use `LocalCluster(processes=False)`, or connect to a cluster that "
    "runs elsewhere."
)

_FOLDER_OF_WORKERS = (
    "Give workers a folder that they can write: `local_directory=` of the cluster "
    "(`dask worker --local-directory`), or the setting `temporary-directory`."
)

_MAKES_LOCAL_DIRECTORY = ("distributed/diskutils.py", "in _init_workspace")


_ARGUMENTS_OF_CLUSTERS = (
    "dashboard_address", "death_timeout", "host", "interface", "local_directory",
    "memory_limit", "n_workers", "name", "nthreads", "preload", "processes", "protocol",
    "resources", "scheduler_kwargs", "scheduler_port", "security", "silence_logs",
    "threads_per_worker", "worker_class", "worker_dashboard_address",
)  # fmt: skip


def _argument_hint(message: str) -> str:
    """Return what to do about an argument that no process of the cluster takes; else nothing.

    A LocalCluster hands those that it does not know to its workers.
    """
    found = ARGUMENT_UNKNOWN_TO_PROCESS.search(message)
    if found is None:
        return ""
    name = found["name"]
    close = get_close_matches(name, _ARGUMENTS_OF_CLUSTERS, n=1)
    meant = f" (did you mean `{close[0]}`?)" if close else ""
    return (
        f"Correct the name of the argument `{name}`{meant}, or remove it: the cluster "
        "object handed it to its workers or its scheduler, which have no such argument. "
        "It is among the cluster's own arguments (`LocalCluster(…)`, `cluster_kwargs`)."
    )


class _Retry(TypedDict, total=False):
    retry_advice: RetryAdvice
    retry_confidence: Confidence


def _retry_of_start(message: str) -> _Retry:
    """Return the advice on a retry, if a start failed of the code that asked for it."""
    if ARGUMENT_UNKNOWN_TO_PROCESS.search(message) is None:
        return {}
    return {"retry_advice": "code", "retry_confidence": "high"}


def _hint_on_start(name: str, message: str, trace: str) -> str:
    """Return what to do about a start that failed for a reason that is known; else nothing."""
    if argument := _argument_hint(message):
        return argument
    if message.endswith(NAME_TAKEN):
        return _NAMES
    if DAEMON_HAS_NO_CHILDREN.search(message):
        return _DAEMON_STARTS_A_CLUSTER
    of_folder = any(each in trace for each in _MAKES_LOCAL_DIRECTORY)
    return _FOLDER_OF_WORKERS if of_folder and name in _OF_FOLDERS else ""


_OF_FOLDERS = frozenset(
    (
        "FileExistsError",
        "FileNotFoundError",
        "NotADirectoryError",
        "OSError",
        "PermissionError",
    )
)


@documented("workers-never-arrived")
def WORKERS_NEVER_ARRIVED(case: Case) -> Iterator[Finding]:
    if (
        case.failed
        and not len(case.run.workers)
        and case.search_exception(NO_WORKER_TO_SCATTER_TO.pattern)
    ):
        yield _scatter_finding(case)
        return
    match = case.search_exception(WORKERS_DID_NOT_ARRIVE.pattern)
    survived = None if match else _survived_wait(case)
    match = match or survived
    if not case.failed or not match or case.blame.failure is not None:
        yield from _missing_workers_findings(case)
        return
    yield _arrival_finding(case, match, survived=survived is not None)


def _arrival_finding(case: Case, match: re.Match[str], *, survived: bool) -> Finding:
    """Return that fewer workers arrived than the driver had waited for.

    Args:
        match: What Dask raised.
        survived: Whether the driver handled that, and ended for it later.
    """
    arrived, wanted = int(match["came"]), int(match["wanted"])
    waited = match["waited"].strip(" .")
    waited = f"{waited} s" if waited.replace(".", "").isdigit() else waited
    died = ""
    if case.deaths and not survived:
        died = (
            f" Before that, {counted(len(case.deaths), 'worker')} joined and "
            f"died{how_died(case, case.deaths)}. Find out why first."
        )
    obstacles = [*_obstacles(case, arrived=arrived, waited=waited)]
    foremost = next(iter(obstacles), None) or _nothing_seen(
        case, arrived, wanted, waited, died=bool(died)
    )
    return WORKERS_NEVER_ARRIVED.found(
        _title_of_arrival(arrived, wanted, waited)
        + "".join(f"; {each.title}" for each in obstacles),
        cause=(
            f"The driver waited {waited} for {counted(wanted, 'worker')}; "
            f"{counted(arrived, 'worker') if arrived else 'none'} arrived.{died}"
            + "".join(each.cause for each in obstacles)
        ),
        remedy=foremost.remedy,
        confidence="medium" if survived else "high",
        retry_advice=foremost.retry_advice,
        retry_confidence="low" if foremost.retry_advice == "unknown" else None,
        evidence=(
            *(evidence for each in obstacles for evidence in each.evidence),
            *(_evidence_of_survived(case) if survived else ()),
            *case.exception_evidence(),
        ),
    )


class _Obstacle(NamedTuple):
    """What kept workers from arriving.

    Attributes:
        title: What is seen of it, in a few words.
        cause: Sentences, each after a blank.
        remedy: What to do.
        retry_advice: Whether a retry would help.
        evidence: What shows it.
    """

    title: str
    cause: str
    remedy: str
    retry_advice: RetryAdvice | None = None
    evidence: tuple[Evidence, ...] = ()


def _obstacles(case: Case, *, arrived: int, waited: str) -> Iterator[_Obstacle]:
    """Yield what is seen of workers that did not arrive, what decides first."""
    named = [*_named_obstacles(case, arrived=arrived, waited=waited)]
    yield from named or _short_host(case, arrived=arrived)


def _named_obstacles(case: Case, *, arrived: int, waited: str) -> Iterator[_Obstacle]:
    """Yield what is seen of the workers themselves."""
    if starting := _still_starting(case):
        how = "".join(map(_how_it_starts, starting))
        yield _Obstacle(_what_starts(starting), how, _BLOCKED_AT_START, "unknown")
    elif (preload := _running_preload(case)) is not None:
        remedy = _SLOW_PRELOAD.format(preload=preload.module, waited=waited)
        yield _Obstacle(preload.title, f" {preload.cause}", remedy)
    if another := started_for_another(case):
        address, _ = another
        unknown = is_unresolved(case, host_of(address))
        yield _Obstacle(
            f"they tried to connect to {address}{' (unknown host)' if unknown else ''}",
            _another_text(case, *another),
            _connect_remedy(case, address),
            "code",
            tuple(_tried_elsewhere(case, address)),
        )
    elif not arrived and (joined := _joined_others(case)):
        title = "those that started joined another scheduler"
        yield _Obstacle(title, joined, _JOINED_ANOTHER, "code")


def _short_host(case: Case, *, arrived: int) -> Iterator[_Obstacle]:
    """Yield that the driver's host was short of something, if workers were to start there.

    A `LocalCluster` of which some workers have come was asked for no more.
    """
    found = None
    if (is_local(case) and not arrived) or _started_by_a_program(case):
        found = short_host_of_driver(case, case.outcome.decided_at)
    if found is not None:
        yield _Obstacle(
            found.title,
            f" {found.text}",
            f"{found.remedy} Or let the driver wait longer for its workers.",
            None if found.by_run else "transient",
            (found.evidence,),
        )


def _nothing_seen(
    case: Case, arrived: int, wanted: int | None, waited: str, *, died: bool
) -> _Obstacle:
    """Return what to do where nothing is seen of the workers that did not arrive.

    Args:
        wanted: The number that the driver waited for; None if it was stopped in its wait.
        waited: For how long; if it was stopped, how it would have failed with a reason.
    """
    local = bool(arrived) and is_local(case)
    by_program = local and _started_by_a_program(case)
    if local and not by_program and not died:
        remedy = _ASKED_FOR_FEWER.format(
            arrived=arrived,
            wanted=wanted or "…",
            number=wanted or "as many as are waited for",
        )
        return _Obstacle("", "", remedy if wanted else f"{remedy} {waited}", "code")
    if by_program:
        return _Obstacle("", "", _OUTPUT_OF_PROGRAM)
    others = f"Check why the {'others' if arrived else 'workers'} are {_PENDING} "
    if wanted is None:
        return _Obstacle("", "", others + waited)
    return _Obstacle(
        "",
        "",
        f"{others}If they only need more time, raise the timeout of `wait_for_workers` above "
        f"{waited}, or continue with {arrived or 'fewer'}.",
    )


def _title_of_arrival(arrived: int, wanted: int, waited: str) -> str:
    who = "The only worker that the driver waited for did not arrive"
    if wanted > 1:
        who = f"{f'Only {arrived}' if arrived else 'None'} of {wanted} workers arrived"
    return f"{who} within {waited}"


_JOINED_ANOTHER = (
    "Check with which address each worker is started: which of them belong to which of the "
    "run's schedulers."
)


def _joined_others(case: Case) -> str:
    """Return a sentence on the workers of the run's other schedulers, if one had none."""
    with_workers = {each.scheduler for each in case.run.of(WorkerAdded)} - {None}
    schedulers = {each.subject for each in case.run.of(SchedulerInfo)}
    if len(schedulers - with_workers) != 1 or not with_workers & schedulers:
        return ""
    [alone] = schedulers - with_workers
    joined = [w for w in case.run.of(WorkerAdded) if w.scheduler in schedulers]
    names = quoted(dict.fromkeys(str(each.name or each.subject) for each in joined))
    return (
        f" No worker ever joined the scheduler at {alone}; "
        f"{counted(len(joined), 'worker')} ({names}) joined another scheduler of this run, "
        f"{listed(sorted(filter(None, with_workers & schedulers)))}."
    )


def _evidence_of_survived(case: Case) -> Iterator[Evidence]:
    """Yield the last that the driver received of Dask, and handled."""
    last = case.run.of(DriverCallFailed)[-1]
    yield Evidence(
        text=f"The driver received {class_of(last.exception)}: {last.message}"
        f"{code_line(last, ' at ')}, and handled it.",
        source="events",
        at=last.at,
    )


def _survived_wait(case: Case) -> re.Match[str] | None:
    """Return that workers did not arrive, where the driver handled that and then ended for it.

    It was the last that it had of Dask: it sent no work any more, and its own code ended it.
    """
    exception, calls = case.exception, case.run.of(DriverCallFailed)
    if not calls or any(death.at < calls[-1].at for death in case.deaths):
        return None
    on_purpose = (
        exception is None
        or class_of(exception.exception) == "SystemExit"
        or raised_on_purpose(exception.traceback)
    )
    last = calls[-1]
    sent = any(graph.at > last.at for graph in case.run.of(GraphUpdated))
    if not on_purpose or sent or case.outcome.is_after(last.at):
        return None
    return WORKERS_DID_NOT_ARRIVE.search(last.message)


_KERNEL_WAITS = (
    (bounded(r"locks_lock|flock|fcntl_setlk"), "a file lock"),
    (bounded(r"nanosleep"), "the end of a sleep"),
    (bounded(r"pipe_read|anon_pipe"), "data from a pipe"),
    (bounded(r"do_wait"), "the end of another process"),
    (bounded(r"sk_wait|skb_wait|tcp_|inet_|unix_"), "data from a connection"),
    (bounded(r"nfs|rpc_|fuse|cifs"), "a network file system"),
    (bounded(r"futex"), "a lock, or another thread"),
)
"""Functions of Linux in which a process sleeps, and for what."""

_BLOCKED_AT_START = (
    "Look at what a worker runs while it starts: a preload (`--preload`, "
    "`distributed.worker.preload`), a plugin's `setup` or an import that does not "
    "return keeps it from joining."
)


_SLOW_PRELOAD = (
    "Make the preload {preload} faster, or prepare what it needs before the run: a worker joins "
    "when its preloads are set up. If they only need more time, raise the timeout of "
    "`wait_for_workers` above {waited}."
)


class _Preload(NamedTuple):
    """A preload that was being set up when the driver gave up waiting."""

    module: str
    last: str
    lasted: float

    @property
    def title(self) -> str:
        said = f", which had last printed “{short(self.last, 60)}”" if self.last else ""
        return f"a worker was still running its preload {short(self.module, 40)}{said}"

    @property
    def cause(self) -> str:
        said = (
            f" The last that it printed was “{short(self.last, 160)}”."
            if self.last
            else ""
        )
        return (
            f"A worker had been running its preload {self.module} for {duration(self.lasted)}, "
            f"and had not connected yet.{said}"
        )


def _running_preload(case: Case) -> _Preload | None:
    """Return the preload of a worker that a program of the driver's was still starting.

    Such a worker prints into the standard error that it shares with the driver. One that has
    set up its preloads prints at which address it listens.
    """
    decided = case.outcome.decided_at
    preload = None if decided is None else _begun_preload(case, decided)
    if decided is None or preload is None:
        return None
    return _Preload(preload.module, preload.last, decided - preload.at)


def _begun_preload(case: Case, until: float) -> Preload | None:
    """Return the preload that a worker had begun to set up, and not ended, at a moment."""
    preload = last_preload(case.run, until=until)
    ready = lines_of(case.run, WORKER_LISTENS, by=["driver"])
    # A scheduler has preloads of its own.
    return preload if preload is not None and preload.times > len(ready) else None


def _still_starting(case: Case) -> list[WorkerStarting]:
    """Return the last report on each worker that its nanny had begun to start, and that had not joined."""
    decided = case.outcome.decided_at
    # What kept it from joining may have ended as the run did.
    until = math.inf if decided is None else decided
    joined = {each.pid for each in case.run.of(WorkerAdded) if each.at < until}
    last = {each.pid: each for each in case.run.of(WorkerStarting)}
    return [each for pid, each in last.items() if pid not in joined]


def _what_starts(starting: list[WorkerStarting]) -> str:
    waits = {_waits_for(each) for each in starting} - {""}
    for_what = f", and waited for {waits.pop()}" if len(waits) == 1 else ""
    return f"{counted(len(starting), 'worker')} {were(len(starting))} still starting{for_what}"


def _how_it_starts(starting: WorkerStarting) -> str:
    waits = _waits_for(starting)
    files = listed(list(starting.files), most=3)
    return (
        f" Process {starting.pid} of {starting.subject} had been starting for "
        f"{duration(starting.lasted)}"
        + (f", and waited for {waits}" if waits else "")
        + (f"; it had {files} open." if files else ".")
    )


def _waits_for(starting: WorkerStarting) -> str:
    """Return what a worker that starts waits for; empty where that is not known."""
    kernel = starting.kernel or ""
    return next((what for said, what in _KERNEL_WAITS if said.search(kernel)), "")


_ASKED_FOR_FEWER = (
    "A LocalCluster starts all its workers when it is created, and this one had {arrived}. "
    "Request {number} (`LocalCluster(n_workers={wanted})`, `cluster.scale({wanted})`), or "
    "wait for {arrived}."
)


_OUTPUT_OF_PROGRAM = (
    "A program starts these workers, not the cluster object: look at the output of that program "
    "for the worker that is missing. A preload, a plugin or an import that does not return keeps "
    "a worker from joining."
)


_ASKED_FOR_NONE = (
    "A LocalCluster starts the requested workers at once, and this one had started "
    "none. Check the requested number (`n_workers=`, `cluster.scale(…)`, the "
    "`maximum=` of `cluster.adapt(…)`), and any workers that the run starts by other "
    "means."
)

_PENDING = (
    "pending: quota, queue or nodes of the cluster manager, an image that cannot be pulled, a "
    "security group or interface that keeps them from reaching the scheduler."
)


def _started_by_a_program(case: Case) -> bool:
    """Return whether a worker's parent is another process than that of the cluster object."""
    drivers = {each.pid for each in case.run.of(DriverAttached)} - {None}
    parents = {
        each.ancestors[0][0] for each in case.run.of(ProcessAncestors) if each.ancestors
    }
    return bool(drivers and parents - drivers)


def _another_text(case: Case, address: str, number: int) -> str:
    """Return a sentence on workers that were started with an address of no use."""
    ports = {port_of(each.subject) for each in case.run.of(SchedulerInfo)}
    last = _address_of_last(case)
    earlier = port_of(address) in ports and port_of(address) != port_of(last)
    what = " of a previous scheduler of this run" if earlier else ""
    unresolved = is_unresolved(case, host_of(address))
    why = f" The host name '{host_of(address)}' does not resolve." if unresolved else ""
    return (
        f" {counted(number, 'worker')} had been started with the address "
        f"{address}{what} and tried to connect there; the scheduler's address is "
        f"{last}.{why}"
    )


def _connect_remedy(case: Case, address: str) -> str:
    last = _address_of_last(case)
    if is_unresolved(case, host_of(address)):
        return (
            f"Correct the host name '{host_of(address)}' in the address that workers are given, "
            f"or the DNS of their network; the scheduler's own address is {last}."
        )
    if port_of(address) == port_of(last):
        return (
            f"Let the scheduler listen where workers connect (`dask scheduler --host "
            f"{host_of(address)}`, or `--interface`; it listens at {last} only), or start the "
            "workers with its address, if they run on its machine."
        )
    return (
        f"Start them with the address of this scheduler, {last}, "
        "or with its `--scheduler-file`."
    )


def _tried_elsewhere(case: Case, address: str) -> Iterator[Evidence]:
    """Yield the first line in which a worker reports the address that it tries to reach."""
    for signature in (WORKER_WAITS_TO_CONNECT, CONNECT_TIMED_OUT):
        lines = lines_of(case.run, signature, by=["driver", "nanny"])
        named = lines.filter(pl.col("message").str.contains(address, literal=True))
        for row in named.head(1).iter_rows(named=True):
            yield case.line_evidence(row)
    for each in failed_commands(case)[:1]:
        if address in each.command:
            yield Evidence(
                text=f"“{short_with_paths(each.command, 160)}” {program_exit_text(each)}.",
                source="driver",
                at=each.at,
            )
    host = host_of(address)
    lines = lines_of(case.run, HOST_NOT_RESOLVED)
    named = lines.filter(pl.col("message").str.contains(f"'{host}'", literal=True))
    for row in named.head(1).iter_rows(named=True):
        yield case.line_evidence(row)


def _address_of_last(case: Case) -> str:
    return max(case.run.of(SchedulerInfo), key=lambda each: each.at).subject


def _scatter_finding(case: Case) -> Finding:
    return WORKERS_NEVER_ARRIVED.found(
        "No worker arrived to receive scattered data",
        cause=(
            "`client.scatter` waited for a worker to put its data on; the scheduler "
            "was running, but no worker ever joined."
        ),
        remedy=(
            "Check why workers are pending (quota, queue, image, network), and call "
            "`client.wait_for_workers(1, timeout=…)` before scattering."
        ),
        confidence="high" if case.recorded_cluster else "medium",
        evidence=case.exception_evidence(),
    )


def _missing_workers_findings(case: Case) -> Iterator[Finding]:
    """Yield that work waited for workers and not a single one ever came."""
    position = case.driver_position
    waits = position is not None and position.in_client("wait_for_workers")
    if position and waits and case.failed and case.blame.failure is None:
        if _all_have_come(case, position):
            return  # the driver had gone on, and was ended before it was seen elsewhere
        yield _waiting_driver_finding(case, position)
        return
    hang = case.hang
    if hang is None or hang.workers or not hang.wanted or len(case.run.workers):
        return
    local = is_local(case)
    yield WORKERS_NEVER_ARRIVED.found(
        f"No worker ever arrived, and {counted(hang.wanted, 'task')} waited",
        cause=(
            f"{counted(hang.wanted, 'task')} reached the scheduler, but no worker did."
            f" {how_it_ended(case, hang)}"
        ),
        remedy=(_ASKED_FOR_NONE if local else f"Check why workers are {_PENDING}")
        + (
            " To make the run fail early, call `client.wait_for_workers(1, timeout=…)` "
            "before computing, or set `distributed.scheduler.no-workers-timeout: 5 minutes`."
        ),
        confidence=case.hang_confidence,
        retry_advice="code" if local else None,
        retry_confidence="medium" if local else None,
        evidence=evidence_of_hang(case, hang),
    )


_WANTED = bounded(r"wait_for_workers\((?:n_workers ?= ?)?(\d{1,6})[,)]")


def _all_have_come(case: Case, position: DriverPosition) -> bool:
    """Return whether as many workers are there as the driver's line waits for, if it says that."""
    frame = position.own_frame
    found = _WANTED.search(frame.code) if frame and frame.code else None
    there = case.run.workers["left"].null_count()
    return found is not None and there >= int(found[1])


def _waiting_driver_finding(case: Case, position: DriverPosition) -> Finding:
    """Return that a driver was stopped while it waited for workers, without a timeout."""
    there, waited = case.run.workers["left"].null_count(), duration(position.lasted)
    frame = position.own_frame
    until = "" if case.run.continues else " when it was stopped"
    obstacles = [*_obstacles(case, arrived=there, waited=waited)]
    foremost = next(iter(obstacles), None) or _nothing_seen_meanwhile(case, there)
    return WORKERS_NEVER_ARRIVED.found(
        f"The driver waited {waited} for workers; "
        f"{there or 'none'} {'was' if there < 2 else 'were'} connected"  # noqa: PLR2004 - one of them
        + "".join(f"; {each.title}" for each in obstacles),
        cause=(
            f"The driver had been in `wait_for_workers`{code_of(frame)} for "
            f"{waited}{until}{at_frame(frame)}. "
            f"{counted(there, 'worker') if there else 'No worker'} had arrived by then; "
            "the driver waited for more." + "".join(each.cause for each in obstacles)
        ),
        remedy=foremost.remedy,
        confidence="medium",
        retry_advice=foremost.retry_advice,
        evidence=(
            evidence_of_position(position),
            *(evidence for each in obstacles for evidence in each.evidence),
            *case.exception_evidence(),
        ),
    )


def _nothing_seen_meanwhile(case: Case, there: int) -> _Obstacle:
    """Return what to do where a wait without a timeout was stopped, and nothing is seen.

    Args:
        there: Workers that were connected.
    """
    reason = "`wait_for_workers(n, timeout=…)` makes the driver fail with a reason."
    if there:
        return _nothing_seen(case, there, None, reason, died=bool(case.deaths))
    return _Obstacle("", "", f"Check why workers are {_PENDING} {reason}")


# no-valid-worker


@documented("no-valid-worker")
def NO_VALID_WORKER(case: Case) -> Iterator[Finding]:
    failure = case.blame.failure
    if not _was_given_up(case):
        yield from _unrunnable_findings(case)
        return
    if not len(case.run.workers):
        yield _no_worker_yet_finding(case)
        return
    if case.blame.cause not in (None, "unknown"):
        return  # they had died, and what ended them says more
    match = case.search_exception(NO_WORKER_FOR_TASK.pattern)
    raised = (each.message for each in (case.exception, failure) if each is not None)
    text = next(filter(None, raised), "")
    key, waited = None if failure is None else failure.key, ""
    if match:
        key, waited = match["key"], f" for {match['waited']}"
    task = restrictions_in(text)
    restriction = asks_for(task)
    what = quoted_key(key) if key else "a task"
    title = f"No worker could run {what}"
    cause = f"{what} waited for a worker, and none that joined could run it."
    cause = short(text, 500) or cause
    remedy = "Start workers, or find why they left: the recording lists the workers that died."
    if restriction:
        title = _title_of_restricted(case, key, restriction) if key else title
        cause = (
            f"{what} asks for {short(restriction, 200)}, and no worker has that"
            f"{offered(case, task)}. It waited{waited}, as "
            "`distributed.scheduler.no-workers-timeout` allows."
        )
        remedy = _start_one_text(restriction, task)
    yield NO_VALID_WORKER.found(
        title,
        cause=cause,
        remedy=remedy,
        confidence="high",
        subject=case.subject(key),
        evidence=case.exception_evidence(),
    )


def _was_given_up(case: Case) -> bool:
    """Return whether Dask gave a task up because no worker was there for it."""
    failure, names = case.blame.failure, ("NoWorkerError", "NoValidWorkerError")
    named = failure is not None and class_of(failure.exception) in names
    return case.failed and (named or case.raised(*names))


def _title_of_restricted(case: Case, key: str, restriction: str) -> str:
    prefix = short(case.prefix_of(key), 40)
    return f"No worker could run '{prefix}': it asks for {short(restriction, 50)}"


def _start_one_text(restriction: str, task: RestrictedTask) -> str:
    drop = "drop the restriction (`resources=`, `workers=`, `dask.annotate`)"
    if not task.resources and task.hosts:
        return f"Ask for a host, or a worker, that is there; or {drop}."
    if not task.resources:
        return f"{NAMES_ARE_ADDRESSES}. Or drop the restriction (`workers=`, `dask.annotate`)."
    return f"Start a worker with {short(restriction, 80)}{to_start(task)}, or {drop}."


def _no_worker_yet_finding(case: Case) -> Finding:
    """Return that tasks timed out before any worker had joined."""
    failure, preload = case.blame.failure, _running_preload(case)
    message = failure.message if failure is not None else ""
    text = message or (case.exception.message if case.exception is not None else "")
    title = "No worker had joined"
    if failure is not None:
        title += f" when '{short(failure.called, 40)}' timed out"
    cause = f"{short(text, 400).rstrip('.')}. No worker had joined by then."
    remedy = (
        "Check why workers are not there yet: their command, their queue, or what they do as "
        "they start."
    )
    if preload is not None:
        title, cause = f"{title}; {preload.title}", f"{cause} {preload.cause}"
        remedy = (
            f"Make the preload {preload.module} faster, or prepare what it needs before "
            "the run."
        )
    return NO_VALID_WORKER.found(
        title,
        cause=cause,
        remedy=remedy
        + " If they only need more time, raise `distributed.scheduler.no-workers-timeout`, or "
        "call `client.wait_for_workers(…)` before you submit.",
        confidence="high",
        subject=Subject() if failure is None else failure.subject,
        evidence=case.exception_evidence(),
    )


def _unrunnable_findings(case: Case) -> Iterator[Finding]:
    """Yield what waited forever, as Dask waits by default without a message."""
    hang = case.hang
    if hang is None:
        return
    restricted = [each for each in hang.unrunnable if asks_for(each)]
    if restricted:
        yield _restrictions_finding(case, hang, restricted[0])
    elif not hang.workers and hang.wanted:
        left = case.run.workers["left"]
        if elsewhere := _workers_at(case, hang):
            yield _other_cluster_finding(case, hang, elsewhere)
        elif len(left) and not left.has_nulls() and not case.deaths:
            yield _no_workers_finding(case, hang)


def _remedy_no_valid_worker(restriction: str, task: RestrictedTask) -> str:
    return (
        f"{_start_one_text(restriction, task)} "
        "`distributed.scheduler.no-workers-timeout: 5 minutes` makes such a task fail."
    )


def _workers_at(case: Case, hang: Hang) -> int:
    """Return how many workers the clusters of the run had as nothing moved; 0 if it had one cluster.

    The scheduler that reported no workers knows its own: that its departures were recorded is
    not certain.
    """
    if len({each.subject for each in case.run.of(SchedulerInfo)}) <= 1:
        return 0
    joined, left = (epoch(name) for name in ("joined", "left"))
    there = (joined < hang.since) & (left.is_null() | (left > hang.at))
    return len(case.run.workers.filter(there))


def _other_cluster_finding(case: Case, hang: Hang, elsewhere: int) -> Finding:
    graph = next(
        (g for g in reversed(case.run.of(GraphUpdated)) if g.at <= hang.at), None
    )
    prefixes = [] if graph is None else list(graph.functions or graph.prefixes)
    named = f" ({quoted(prefixes)})" if prefixes else ""
    return NO_VALID_WORKER.found(
        f"{counted(hang.wanted, 'task')}{named} waited on a cluster that has no workers; "
        f"another cluster has {elsewhere}",
        cause=(
            "The driver has more than one cluster, and sent these tasks to one without workers. "
            "`dask.compute`, `dask.persist` and `.compute()` use the client that was created "
            f"last, unless another one is current. {how_it_ended(case, hang)}"
        ),
        remedy=(
            "Use the client of the cluster that has the workers: `client.compute(…)`, "
            "`client.persist(…)`, or `with client.as_current():`. Or scale the other cluster up "
            "before its tasks are submitted. "
            "`distributed.scheduler.no-workers-timeout: 5 minutes` makes such tasks fail early."
        ),
        confidence=case.hang_confidence,
        retry_advice="code",
        evidence=evidence_of_hang(case, hang),
    )


def _restrictions_finding(case: Case, hang: Hang, task: RestrictedTask) -> Finding:
    key, restriction = task.key, asks_for(task)
    number = hang.states.get("no-worker", 0)
    others = ""
    if number > 1:
        others = f" {counted(number, 'task')} waited for the same reason."
    others += _waiting_for_these(case, hang)
    loose = ""
    if task.loose and hang.workers:
        loose = (
            " Its restriction is loose (`allow_other_workers`), so Dask should have used "
            "another worker, but did not."
        )
    return NO_VALID_WORKER.found(
        _title_of_restricted(case, key, restriction),
        cause=(
            f"{quoted_key(key)} asks for {short(restriction, 200)}, and "
            f"{_no_worker_text(hang)} that{offered(case, task)}.{others}{loose} Dask waits for "
            "such a worker without logging anything."
            f" {how_it_ended(case, hang)}"
        ),
        remedy=_remedy_no_valid_worker(restriction, task),
        confidence="medium" if loose else case.hang_confidence,
        subject=case.subject(key),
        evidence=evidence_of_hang(case, hang),
    )


def _waiting_for_these(case: Case, hang: Hang) -> str:
    """Return a sentence on the tasks that need results of those that no worker may run."""
    waits = hang.states.get("waiting", 0)
    begun = {case.prefix_of(each.key) for each in hang.unrunnable}
    begun |= {*case.run.tasks["prefix"].drop_nulls()}
    sent = (each.prefixes for each in case.run.of(GraphUpdated) if each.at <= hang.at)
    after = [
        p for p in dict.fromkeys(p for known in sent for p in known) if p not in begun
    ]
    if not waits or not after:
        return ""
    return (
        f" {counted(waits, 'task')} waited for their results ({quoted(after, most=3)})."
    )


def _no_workers_finding(case: Case, hang: Hang) -> Finding:
    return NO_VALID_WORKER.found(
        f"No worker was left, and {wanted_tasks(case, hang)} waited",
        cause=(
            f"{counted(len(case.run.workers), 'worker')} joined and all left in an "
            "orderly way (retired, scaled down or closed) while tasks were still "
            f"pending. {how_it_ended(case, hang)}"
        ),
        remedy=(
            "Keep at least one worker: `cluster.adapt(minimum=1)`; find who scaled the "
            "cluster down. `distributed.scheduler.no-workers-timeout: 5 minutes` makes such "
            "tasks fail early."
        ),
        confidence="medium",
        retry_advice="transient",
        evidence=evidence_of_hang(case, hang),
    )


def _no_worker_text(hang: Hang) -> str:
    few = {0: "there is no worker with", 1: "no worker has"}
    return few.get(hang.workers, f"none of the {hang.workers} workers has")
