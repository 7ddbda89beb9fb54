"""Deaths of workers whose job (or other unit) a cluster manager ended, as the manager says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from dask_blackbox.analyse.case import Case
from dask_blackbox.analyse.death_texts import deaths_blamed_on, verdict_on_deaths
from dask_blackbox.analyse.facts.units import (
    Unit,
    memory_limit_of,
    unit_at_exit,
    unit_that_was_full,
    units_of,
)
from dask_blackbox.analyse.facts.worker_exit import WorkerExit
from dask_blackbox.analyse.rule import Rule, documented
from dask_blackbox.analyse.worker_memory import (
    MemoryNeed,
    memory_need,
    retained_memory_of,
)
from dask_blackbox.events import UnitState
from dask_blackbox.finding import Confidence, Evidence, Finding, RetryAdvice
from dask_blackbox.formatting import duration, listed, need, short, size, were
from dask_blackbox.managers import manager_named
from dask_blackbox.managers.slurm import SLURM
from dask_blackbox.patterns import bounded
from dask_blackbox.run_tables import FINISHED

_MOST_OF_LIMIT = 0.7
"""Share of a time limit; a task that had run for longer than this is longer than the limit."""
_AMPLE = 1.5


def units_at(case: Case, deaths: Sequence[WorkerExit]) -> list[Unit]:
    """Return the units that ended with some workers, each once, the last one last."""
    found = (unit_at_exit(case.run, death) for death in deaths)
    return list({unit.id: unit for unit in found if unit is not None}.values())


def verdict_on_units(
    case: Case,
    rule: Rule,
    deaths: tuple[WorkerExit, ...],
    *,
    how: str,
    remedy: str,
    more: str = "",
    retry_advice: RetryAdvice | None = None,
    retry_confidence: Confidence | None = None,
    worker_memory: int | None = None,
) -> Iterator[Finding]:
    """Yield the verdict that a manager ended the units of workers, with what it says of them."""
    for finding in verdict_on_deaths(
        case,
        rule,
        did=f"{were(len(deaths))} ended",
        how=how,
        more=more,
        remedy=remedy,
        retry_advice=retry_advice,
        retry_confidence=retry_confidence,
        worker_memory=worker_memory,
    ):
        said = tuple(map(evidence_of_unit, units_at(case, deaths)[-2:]))
        yield msgspec.structs.replace(finding, evidence=(*said, *finding.evidence))


def evidence_of_unit(unit: Unit) -> Evidence:
    """Return what a manager said of a unit, as evidence."""
    state = unit.state
    if not unit.states:
        return Evidence(
            text=f"The log of {unit.word} {unit.id}: {unit.line}", source="events"
        )
    facts = [
        f"on {unit.node}" if unit.node else "",
        f"after {duration(unit.lasted)}" if unit.lasted is not None else "",
        f"time limit {duration(state.time_limit)}" if state.time_limit else "",
        f"memory limit {size(state.memory_limit)}" if state.memory_limit else "",
        f"it used {size(state.memory)}" if state.memory else "",
        f"restarted {state.restarts} times" if state.restarts > 1 else "",
        f"reason {short(state.reason, 300)}" if state.reason else "",
        f"by {state.by}" if state.by else "",
    ]
    said = ", ".join(filter(None, facts))
    line = f". Its log: {short(unit.line.strip(), 240)}" if unit.line else ""
    return Evidence(
        text=f"{unit.manager}: {unit.word} {unit.id} {state.state}{f' ({said})' if said else ''}"
        + (line or "."),
        source="events",
        at=state.ended if unit.over else state.at,
    )


def jobs(units: Sequence[Unit]) -> str:
    """Return units as they are called: `Slurm job 12`."""
    if not units:
        return "its job"
    word = f"{units[-1].word}{'s' if len(units) > 1 else ''}"
    return f"{units[-1].manager} {word} {listed([unit.id for unit in units], most=3)}"


def _are_pods(units: Sequence[Unit]) -> bool:
    return bool(units) and units[-1].word == "pod"


# worker-time-limit


@documented("worker-time-limit")
def WORKER_TIME_LIMIT(case: Case) -> Iterator[Finding]:
    deaths = deaths_blamed_on(case, WORKER_TIME_LIMIT.slug)
    if not deaths:
        return
    units = units_at(case, deaths)
    limits = (unit.state.time_limit for unit in reversed(units))
    limit = next(filter(None, limits), None)
    more, remedy = _time_needed(case, deaths, limit)
    yield from verdict_on_units(
        case,
        WORKER_TIME_LIMIT,
        deaths,
        how=f"at the time limit{f' of {duration(limit)}' if limit else ''} of "
        f"{jobs(units)}",
        more=more,
        remedy=_OF_DEADLINE if _are_pods(units) else remedy,
    )


_OF_DEADLINE = (
    "Raise `activeDeadlineSeconds` of the Job or the pod above what the work takes, or divide "
    "the work. With this deadline, a retry ends in the same way."
)


def _time_needed(
    case: Case, deaths: Sequence[WorkerExit], limit: float | None
) -> tuple[str, str]:
    """Return how long tasks take, and which time limit they need, each in sentences."""
    running = [(d.at - t.start, t.key) for d in deaths for t in d.running if t.start]
    longest, key = max(running, default=(0.0, ""))
    done = case.run.tasks.filter(FINISHED)["compute"]
    most = float(done.max() or 0.0) if len(done) else None  # type: ignore[arg-type]
    retire = (
        "With `--lifetime` below the time limit (`worker_extra_args=['--lifetime', …, "
        "'--lifetime-stagger', …]`) and `cluster.adapt`, workers leave in time and "
        "others take over."
    )
    if limit and longest > _MOST_OF_LIMIT * limit:
        name = short(case.prefix_of(key), 40)
        cause = (
            f"'{name}' had run for {duration(longest)} when the job ended, and had not "
            "finished: with this time limit, a retry ends in the same way."
        )
        remedy = (
            f"Give the jobs more time (`walltime=`): '{name}' alone needs more than "
            f"{duration(longest)}. Or divide it into shorter tasks."
        )
        return cause, remedy
    texts = []
    if most is not None:
        texts.append(f"The longest task that finished took {duration(most)}.")
    if longest:
        texts.append(f"The one that was running had taken {duration(longest)}.")
    return " ".join(texts), f"Give the jobs more time (`walltime=`). {retire}"


# worker-job-memory

_EXCEEDED = bounded(r"\((\d{4,20}) ?> ?(\d{4,20})\)")


@documented("worker-job-memory")
def WORKER_JOB_MEMORY(case: Case) -> Iterator[Finding]:
    deaths = deaths_blamed_on(case, WORKER_JOB_MEMORY.slug)
    if not deaths:
        return
    units = units_at(case, deaths)
    used, limit = _memory_of(units)
    memory = memory_need(case, tuple(deaths), met_its_limit=False)
    own = memory.limit
    wanted = max(int(_AMPLE * max(used or 0, limit or 0)), memory.wanted)
    at = f", at {size(used)}" if used else ""
    than = "of" if used else "for"
    of = f" {than} its limit of {size(limit)}" if limit else ""
    pods = _are_pods(units)
    word = "container" if pods else next((each.word for each in units), "job")
    above = ""
    if own and limit and own > limit:
        above = (
            f"Dask's own limit of {size(own)} was above that of the {word}, so Dask never "
            f"spilled or paused in time: set `memory_limit` below the {word}'s. "
        )
    how, more = f"used too much memory{at}{of}", ""
    if pods:
        how, more = _was_killed(units, limit), _both_limits(own, limit)
    yield from verdict_on_units(
        case,
        WORKER_JOB_MEMORY,
        deaths,
        how=f"because {jobs(units)} {how}",
        more=more,
        remedy=f"{above}{_more_memory(units)}: start "
        f"with {need(wanted)}. Or {memory.less_at_once()}.",
        worker_memory=wanted,
    )


def full_units_at(case: Case, deaths: Sequence[WorkerExit]) -> list[Unit]:
    """Return the units at whose memory limit the kernel killed workers, each once."""
    found = (unit_that_was_full(case.run, death) for death in deaths)
    return list({unit.id: unit for unit in found if unit is not None}.values())


def killed_in_full_units(
    case: Case,
    rule: Rule,
    deaths: tuple[WorkerExit, ...],
    units: Sequence[Unit],
    memory: MemoryNeed,
) -> Iterator[Finding]:
    """Yield the verdict that the kernel killed workers at the limits of their units.

    A manager that limits memory by cgroups leaves the killing to the kernel, and the unit
    continues.
    """
    unit, own = units[-1], memory.limit or 0
    limit, word = memory_limit_of(unit), unit.word
    had = f"Dask's own limit of {size(own)}" if own else "Dask had no limit, which"
    too_high = (
        f"{had} was above that of the {word}, so Dask never spilled or paused in time"
    )
    if 0 < own <= limit:
        too_high = (
            f"{had} leaves too little of the {word}'s {size(limit)} for the nanny and for "
            "what a task allocates at once"
        )
    wanted = max(int(_AMPLE * limit), memory.wanted)
    retained = retained_memory_of(case, deaths[-1])
    seen = f" (last sample: {size(memory.seen)})" if memory.seen else ""
    for finding in verdict_on_deaths(
        case,
        rule,
        did=f"{were(len(deaths))} killed",
        how="by the kernel's out-of-memory killer, at the memory limit of "
        f"{size(limit)} of {jobs(units)}{seen}",
        more=retained.sentence() if retained else "",
        remedy=f"{too_high}: set `memory_limit` below the {word}'s. "
        f"{_more_memory(units)}: start with {need(wanted)}."
        + (f" {retained.advice()}" if retained else ""),
        retry_confidence="medium" if retained else None,
        worker_memory=wanted,
    ):
        said = evidence_of_unit(unit)
        yield msgspec.structs.replace(finding, evidence=(said, *finding.evidence))


def _more_memory(units: Sequence[Unit]) -> str:
    """Return how to give units more memory, without an end."""
    if _are_pods(units):
        return "Give each pod more memory (`resources={'limits': {'memory': …}, 'requests': …}`)"
    if units and units[-1].word == "container":
        return "Give each container more memory (`worker_memory=`)"
    return "Request more memory for each job (`memory=`, `job_mem=`)"


def _was_killed(units: Sequence[Unit], limit: int | None) -> str:
    one = len(units) == 1
    of = f" of {size(limit)}" if limit else ""
    return f"{'was' if one else 'were'} killed at {'its' if one else 'their'} memory limit{of}"


def _both_limits(own: int | None, limit: int | None) -> str:
    """Return which limit it was, where a container has one and Dask another."""
    if not limit:
        return ""
    dasks = f"Dask's own is {size(own)}" if own else "Dask had none"
    return f"The limit is that of the container, {size(limit)}; {dasks}."


def _memory_of(units: Sequence[Unit]) -> tuple[int | None, int | None]:
    """Return the memory that the last unit used, and its limit, in bytes."""
    for unit in reversed(units):
        if found := _EXCEEDED.search(unit.line):
            return int(found[1]), int(found[2])
        if unit.states:
            return unit.state.memory, unit.state.memory_limit
    return None, None


# worker-cancelled


@documented("worker-cancelled")
def WORKER_CANCELLED(case: Case) -> Iterator[Finding]:
    deaths = deaths_blamed_on(case, WORKER_CANCELLED.slug)
    if not deaths:
        return
    units = units_at(case, deaths)
    by = sorted({unit.state.by for unit in units} - {""})
    manager = units[-1].manager if units else "The manager"
    who = f" by {listed(by)}" if by else ""
    yield from verdict_on_units(
        case,
        WORKER_CANCELLED,
        deaths,
        how=f"because {jobs(units)} {'were' if len(units) > 1 else 'was'} "
        f"{'deleted' if _are_pods(units) else 'cancelled'}{who}",
        more="The run itself had not ordered it."
        + ("" if by else f" {manager} does not say who did."),
        remedy=_OF_DELETED
        if _are_pods(units)
        else (
            f"{_ask(by, manager)} The tasks are not at fault; a retry helps unless the jobs are "
            "cancelled again."
        ),
    )


def _ask(by: Sequence[str], manager: str) -> str:
    if by:
        return f"Ask {listed(by)} why the jobs were cancelled."
    known = manager_named(manager)
    command = f" (`{known.cancel}`)" if known is not None else ""
    return (
        f"Find out who cancelled the jobs: a person{command}, an administrator, or a "
        "script that cleans up."
    )


_OF_DELETED = (
    "Find out who deleted the pods: a person (`kubectl delete`), an autoscaler, a controller, or "
    "the operator when it scaled down. The API's audit log says it. The tasks are not at fault."
)


# worker-node-failed


@documented("worker-node-failed")
def WORKER_NODE_FAILED(case: Case) -> Iterator[Finding]:
    deaths = deaths_blamed_on(case, WORKER_NODE_FAILED.slug)
    if not deaths:
        return
    units = units_at(case, deaths)
    nodes = sorted({unit.node for unit in units if unit.node})
    yield from verdict_on_units(
        case,
        WORKER_NODE_FAILED,
        deaths,
        how=f"because a node of {jobs(units)} failed"
        + (f": {listed(nodes)}" if nodes else ""),
        remedy="The tasks are not at fault, and a retry helps. If it is the same node "
        f"again, exclude it{_exclude(nodes, units)} and report it to the "
        "administrators.",
    )


def _exclude(nodes: Sequence[str], units: Sequence[Unit]) -> str:
    node = nodes[0] if nodes else "NODE"
    if _are_pods(units):
        return f" (`kubectl cordon {node}`)"
    if units and units[-1].manager == SLURM.name:
        return f" (`job_extra_directives=['--exclude={node}']`)"
    return ""


# workers-pending

_WAITS_FOR: tuple[tuple[str, str, str, RetryAdvice], ...] = (
    (
        (
            r"Resources|Priority|dropped because of overload or full|^Not Running: Insufficient|"
            r"[Jj]ob slot|Not enough"
        ),
        "other jobs have the nodes, or come first",
        (
            "Wait longer (`wait_for_workers(timeout=…)`, or start with fewer workers), or ask "
            "for less: fewer cores, less memory or a shorter time limit start sooner."
        ),
        "transient",
    ),
    (
        (
            r"PartitionDown|PartitionInactive|ReqNodeNotAvail|NodeDown|because it is disabled|"
            r"Queue not started|inactivated|[Cc]losed by|queue is closed"
        ),
        "the partition or queue, or its nodes, are down",
        (
            "Use another partition (`queue=`), or wait until the administrators bring it up "
            "(`sinfo` or `qstat -f` shows its state)."
        ),
        "environment",
    ),
    (
        r"QOS|Assoc|Licenses|MaxJobs|MaxSubmit|Grp|MaxTRES|AccountNotAllowed",
        "a limit of the account or its quality of service",
        "Ask for less, or wait until other jobs of the account have ended.",
        "environment",
    ),
    (
        r"JobHeld|Dependency|BeginTime|Reservation|in hold state|[Jj]ob held|suspended",
        "the job is held, or may not start yet",
        "Release the jobs, or remove the directive that holds them.",
        "environment",
    ),
    (
        r"offers only",
        "no host has as much of that as the jobs ask for, at least now",
        "Ask for less (`resource_spec=`, `memory=`), or wait if other jobs use it.",
        "unknown",
    ),
    (
        (
            r"PartitionConfig|PartitionNodeLimit|PartitionTimeLimit|BadConstraints|"
            r"Can Never Run|requirements? not satisfied|no match found"
        ),
        "no node or partition can give what the jobs ask for",
        (
            "Ask for less (`cores=`, `memory=`, `walltime=`), or use another partition "
            "(`queue=`): as they are, these jobs never start."
        ),
        "environment",
    ),
    (
        r"unable to|can't|No such file|less than minimum",
        "it could not be started",
        (
            "Correct what the jobs ask for: the folder, the shell or the user of the job is "
            "not there on the node. `print(cluster.job_script())` shows the job."
        ),
        "environment",
    ),
)
"""Why jobs wait, by the manager's reason: what it means, what to do, whether a retry helps."""


_WAITS_FOR_ANOTHER: tuple[str, str, str, RetryAdvice] = (
    "",
    "",
    "Ask the administrators why these jobs wait.",
    "unknown",
)


@documented("workers-pending")
def WORKERS_PENDING(case: Case) -> Iterator[Finding]:
    waiting = [u for u in units_of(case.run).missing if u.pending and u.word == "job"]
    if not case.failed or not waiting or not case.lacked_workers:
        return
    reasons = dict.fromkeys(u.pending.reason for u in waiting if u.pending)
    reason = ", ".join(filter(None, reasons))
    # Where one job waits for its turn, and another for a change, only the change helps both.
    rows = sorted(map(_row_of, reasons), key=lambda row: row[3] == "transient")
    _, means, remedy, advice = rows[0]
    why = f"reason {reason}{means and ': '}{means}" if reason else "without a reason"
    which = jobs(waiting)
    yield WORKERS_PENDING.found(
        f"Workers did not arrive because {which} {were(len(waiting))} pending "
        f"({short(reason, 90) or 'no reason given'})",
        cause=f"{which}, which would run workers, had not started when the driver stopped "
        f"waiting: {waiting[-1].manager} reported them as pending, {why}.",
        remedy=remedy,
        confidence="high",
        retry_advice=advice,
        evidence=(*map(_evidence_of_waiting, waiting[-2:]), *case.exception_evidence()),
    )


def _row_of(reason: str) -> tuple[str, str, str, RetryAdvice]:
    rows = (each for each in _WAITS_FOR if bounded(each[0]).search(reason))
    return next(rows, _WAITS_FOR_ANOTHER)


def _evidence_of_waiting(unit: Unit) -> Evidence:
    state = unit.pending or UnitState()
    return Evidence(
        text=f"{unit.manager}: job {unit.id} {state.state}, reason {state.reason or 'none'}.",
        source="events",
        at=unit.states[0].at,  # it has waited since then, or longer
    )
