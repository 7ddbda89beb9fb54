"""What is known of the starts of workers: lines, the run's own commands of Dask's, addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from ipaddress import ip_address

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.driver_output import (
    PrintedFailure,
    logged_failures,
    printed_failures,
)
from dask_blackbox.analyse.frames import raised_at_end, root_of_chain, user_frame
from dask_blackbox.analyse.signatures import any_of, lines_of
from dask_blackbox.analyse.signatures.distributed import (
    CONNECT_TIMED_OUT,
    HOST_NOT_RESOLVED,
    NANNY_EXIT_STATUS,
    NANNY_PLUGIN_FAILED,
    NANNY_PROCESS_FAILED,
    NANNY_START_GIVEN_UP,
    PRELOAD_FAILED,
    SEVERAL_PLUGINS_FAILED,
    START_TIMED_OUT,
    WORKER_NAME_TAKEN,
    WORKER_NOT_CONNECTED,
    WORKER_PLUGIN_FAILED,
    WORKER_WAITS_TO_CONNECT,
)
from dask_blackbox.events import (
    DriverSignalled,
    ProgramFailed,
    SchedulerInfo,
    WorkerAdded,
)
from dask_blackbox.formatting import class_of
from dask_blackbox.patterns import bounded
from dask_blackbox.tables.schemas import Row

REGISTERING = (
    "in register_plugin",
    "in _register_worker_plugin",
    "register_worker_plugin",
)
"""Parts of a traceback from where a plugin is registered."""

_START_FAILURES = (
    NANNY_PROCESS_FAILED,
    CONNECT_TIMED_OUT,
    PRELOAD_FAILED,
    WORKER_NOT_CONNECTED,
    WORKER_PLUGIN_FAILED,
    SEVERAL_PLUGINS_FAILED,
    NANNY_PLUGIN_FAILED,
    NANNY_START_GIVEN_UP,
    NANNY_EXIT_STATUS,
)


_RAISED = bounded(
    r"^(?P<name>[A-Za-z_][\w.]*(?:Error|Exception|Exit)): (?P<message>.*)$",
    re.MULTILINE,
)


_GIVEN_ADDRESS = bounded(
    r"\bdask[ -]worker\b.*?\s(?P<address>(?:tcp|tls|ucx|wss?)://\S+)"
)


COMMAND = bounded(
    r"\bdask(?:\.exe)? (?:worker|scheduler|spec)\b|\bdask-(?:worker|scheduler)\b|"
    r"dask/__main__\.py|distributed[/.]cli[/.]|bin/dask\b|"
    # `python -m dask`, which ended as Python imported Dask.
    r"\b_get_module_details\n.*(?:\n  .*)*/dask/__init__\.py"
)


GENERIC = (
    "CancelledError",
    "CommClosedError",
    "Empty",
    "RuntimeError",
    "StreamClosedError",
    "TimeoutError",
)
"""Exceptions by which Dask ends its own waiting: they say nothing of the reason."""


def ends_of_commands(case: Case) -> Iterator[PrintedFailure]:
    """Yield the exceptions that ended commands of Dask's, as these printed them."""
    for each in case.run.once(printed_failures):
        # Dask's own words for a start that failed say nothing of the reason.
        vague = each.exception in GENERIC and user_frame(each.traceback) is None
        of_dask = COMMAND.search(each.program or each.traceback)
        if not of_dask or case.outcome.is_after(each.at) or (vague and not each.root):
            continue
        known = replace(each, exception="", message=each.root) if vague else each
        # Who reached no scheduler had started, and did not arrive.
        unreached = CONNECT_TIMED_OUT.search(known.message)
        of_run = any(x.subject in known.message for x in case.run.of(SchedulerInfo))
        if not unreached or not (started_for_another(case) or of_run):
            yield replace(known, message=_of_names(known.message))


def failed_commands(case: Case) -> list[ProgramFailed]:
    """Return the commands of Dask's that exited with an error before the outcome."""
    return [
        each
        for each in case.run.of(ProgramFailed)
        if COMMAND.search(each.command) and not case.outcome.is_after(each.at)
    ]


def lines_on_starts(case: Case) -> list[Row]:
    """Return the lines that say that something did not start, by time."""
    roles = ("nanny", "worker", "driver", "scheduler")
    lines = lines_of(case.run, *_START_FAILURES, by=roles)
    # The driver's own exception, which it printed, is about no worker.
    own = "" if case.exception is None else case.exception.message.partition("\n")[0]
    return [
        each
        for each in lines.tail(20).to_dicts()
        if each["role"] != "driver" or not own or own not in each["message"]
    ]


def root_of_start(case: Case, lines: list[Row]) -> tuple[str, str] | None:
    """Return class and message of what it failed of, rather than of what followed."""
    reported = []
    if case.exception is not None:
        own = root_of_chain(case.exception.traceback)
        reported += [own] if own else []
        if any(word in case.exception.traceback for word in REGISTERING):
            reported.append((case.exception.exception, case.exception.message))
    for line in lines:
        reported += [
            (m["name"], m["message"]) for m in _RAISED.finditer(line["message"])
        ]
    # On the stderr that a command of Dask's shares with the driver, each line is a row.
    for each in case.run.once(logged_failures):
        if any_of(each.logged, *_START_FAILURES):
            first = raised_at_end(each.root) if each.root else None
            reported.append(first or (each.exception, each.message))
    reported += [(each.exception, each.message) for each in ends_of_commands(case)]
    known = [(class_of(name), _of_names(message)) for name, message in reported]
    good = [each for each in known if each[0] not in GENERIC]
    return next(iter(good), None)


NAME_TAKEN = "is already taken by another worker"


def _of_names(message: str) -> str:
    """Return a message; of the scheduler's reply to a name that is taken, what it says."""
    taken = WORKER_NAME_TAKEN.search(message)
    return message if taken is None else f"the name '{taken['name']}' {NAME_TAKEN}"


_NO_PORT_LEFT = bounded(r"Could not start \w+ on host \S+ with port \[")


def port_text(message: str, who: str, address: str = "") -> str:
    """Return a sentence on a port that is in use, if a message says so; else nothing.

    Args:
        address: Which it is; empty: not known.
    """
    if _NO_PORT_LEFT.search(message):
        return f" Other processes listen on all these ports: the {who} needs one of its own."
    in_use = "in use" in message
    at = f" ({address})" if address else ""
    return f" Another process listens on the port of the {who}{at}." if in_use else ""


def started_for_another(case: Case) -> tuple[str, int] | None:
    """Return the address that workers were started with, if no scheduler that has any is there.

    With how many workers: those that the driver's own script started with that address, or
    that printed that they waited for it.
    """
    schedulers = sorted(case.run.of(SchedulerInfo), key=lambda each: each.at)
    if not schedulers:
        return None
    joined = {each.scheduler for each in case.run.of(WorkerAdded)}
    addresses = [each.scheduler for each in case.run.of(DriverSignalled)]
    addresses += _printed_addresses(case)
    # The same scheduler may have several names; of a port, there is one.
    known = {port_of(each) for each in (schedulers[-1].subject, *joined) if each}
    others = [each for each in addresses if each and port_of(each) not in known]
    if not others and not any(joined):
        given = _addresses_of_commands(case)
        last = schedulers[-1].subject
        others = [each for each in given if _is_not_at(case, each, last)]
    return (others[0], others.count(others[0])) if others else None


def _addresses_of_commands(case: Case) -> list[str]:
    """Return the address that each command was given whose worker timed out as it started."""
    lines = lines_on_starts(case)
    timed_out = any(any_of(str(each["message"]), START_TIMED_OUT) for each in lines)
    if not timed_out or root_of_start(case, lines) is not None:
        return []
    found = (_GIVEN_ADDRESS.search(each.command) for each in failed_commands(case))
    return [each["address"] for each in found if each]


def _is_not_at(case: Case, address: str, scheduler: str) -> bool:
    """Return whether a scheduler cannot be reached at an address, as far as that shows it.

    A host has many names and addresses; but a name that does not resolve is none of them, and
    who listens on the loopback interface only is not reached at another address.
    """
    if port_of(address) != port_of(scheduler):
        return True
    given, listens = host_of(address), host_of(scheduler)
    if is_unresolved(case, given):
        return True
    try:
        one, other = ip_address(given), ip_address(listens)
    except ValueError:
        return False
    return other.is_loopback and one != other


def is_unresolved(case: Case, host: str) -> bool:
    """Return whether a process of Dask's printed that a host name has no address."""
    lines = lines_of(case.run, HOST_NOT_RESOLVED)
    found = (HOST_NOT_RESOLVED.search(line) for line in lines["message"])
    return any(each["host"] == host for each in found if each)


def host_of(address: str) -> str:
    return address.partition("://")[2].rpartition(":")[0].strip("[]")


def _printed_addresses(case: Case) -> list[str]:
    """Return the address for which each worker printed that it waited, or else gave up."""
    waiting = lines_of(case.run, WORKER_WAITS_TO_CONNECT, by=["driver", "nanny"])
    found = [WORKER_WAITS_TO_CONNECT.search(line) for line in waiting["message"]]
    printed = case.run.once(printed_failures)
    if not found and any(COMMAND.search(each.traceback) for each in printed):
        found = [CONNECT_TIMED_OUT.search(each.message) for each in printed]
    return [each["address"] for each in found if each]


def port_of(address: str) -> str:
    return address.rpartition(":")[2]
