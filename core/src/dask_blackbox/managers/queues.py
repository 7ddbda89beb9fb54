"""Batch queues that are asked by one or two commands: Grid Engine, PBS, LSF, HTCondor and OAR.

A queue is a row: its cluster object, its variable, its commands, and the function that reads
their output.  Grid Engine was tried (8.1.9).  The others follow what they document:

* PBS: `qstat -f -F json -x` of OpenPBS 20 to 22, codes of `Exit_status` as in its `job.h`;
  finished jobs are there where the server keeps their history.
* LSF: IBM's pages on `bjobs -o` and `-json`, and on the reasons of `bhist -l` (`TERM_…`).
* HTCondor: “Job ClassAd Attributes” of its manual, `condor_q` and `condor_history` with `-json`.
* OAR: the source of `oarstat` 2.5 (`OAR::Stat::get_job_data`).
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from dask_blackbox.events import UnitState
from dask_blackbox.managers.base import (
    JobQueue,
    Question,
    States,
    seconds,
    size_in_bytes,
)

_LONGEST = 300
_MINUTE, _MEBI = 60.0, 2**20
_SIGNALLED, _SIGNALLED_IN_PBS = 128, 256
"""What is added to a signal's number in an exit status."""
_TIMES = (
    "%a %b %d %H:%M:%S %Y",
    "%m/%d/%Y %H:%M:%S",
    "%b %d %H:%M:%S %Y",
    "%b %d %H:%M %Y",
)


def _epoch(text: object) -> float | None:
    """Return epoch seconds of a time as queues write it, in local time; None: it is none."""
    said = re.sub(r"\.\d{1,6}$| [A-Z]$", "", str(text or "").strip())
    if said.isdigit():
        return float(said) or None
    for form in _TIMES:
        for year in ("", f" {time.localtime().tm_year}"):
            with suppress(ValueError, OverflowError):
                return time.mktime(time.strptime(f"{said}{year}", form))
    return None


def _exit(status: object, *, above: int = _SIGNALLED) -> dict[str, Any]:
    """Return exit code and signal of a status as shells report it; none where it is no number."""
    text = str(status).strip()
    if not text.isdigit():
        return {}
    code = int(text)
    for least in (above, _SIGNALLED):
        if least < code <= least + 64:
            return {"exit_code": 0, "signal": code - least}
    return {"exit_code": code, "signal": None}


def _waited(status: object) -> dict[str, Any]:
    """Return exit code and signal of a status as the system returned it (`wait`)."""
    with suppress(ValueError, TypeError):
        code = os.waitstatus_to_exitcode(int(str(status)))
        return {"exit_code": max(code, 0), "signal": -code if code < 0 else None}
    return {}


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:  # nothing, a message, or what was cut
        return {}


def _objects(found: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the objects of a JSON object, or those of a list without names."""
    pairs = (
        found.items()
        if isinstance(found, dict)
        else (("", each) for each in (found if isinstance(found, list) else ()))
    )
    yield from ((str(k), v) for k, v in pairs if isinstance(v, dict))


def _by_id(states: Iterator[UnitState]) -> States:
    return {each.subject: each for each in states}


# Grid Engine

_GRID_ENGINE = "Grid Engine"
_BUT_ANOTHER_QUEUE = "not contained in its hard queue list"


def read_qstat_xml(text: str) -> States:
    """Return the jobs that `qstat -xml -j` printed, those that wait with the reason."""
    try:
        root = ET.fromstring(text)  # noqa: S314 - of the site's own command
    except ET.ParseError:
        return {}
    jobs = root.iterfind("djob_info/element")
    return _by_id(_of_grid_engine(each, root) for each in jobs)


def _of_grid_engine(job: ET.Element, root: ET.Element) -> UnitState:
    tasks = "JB_ja_tasks/ulong_sublist/"
    started = _epoch(job.findtext(f"{tasks}JAT_start_time"))
    error = job.findtext(f"{tasks}JAT_message_list/ulong_sublist/QIM_message")
    number = job.findtext("JB_job_number", "")
    limits = {
        each.findtext("CE_name"): each.findtext("CE_stringval", "")
        for each in job.iterfind("JB_hard_resource_list/qstat_l_requests")
    }
    return UnitState(
        manager=_GRID_ENGINE,
        subject=number,
        state="running" if started else "error" if error else "pending",
        reason="" if started else _why_it_waits(number, job, root, error),
        user=job.findtext("JB_owner", ""),
        requested=_epoch(job.findtext("JB_submission_time")),
        started=started,
        time_limit=seconds(limits.get("h_rt", "")),
        memory_limit=size_in_bytes(limits.get("h_vmem", "")),
    )


def _why_it_waits(
    number: str, job: ET.Element, root: ET.Element, error: str | None
) -> str:
    """Return why a job waits: its own error, what is said of it, or of the queues it asks for."""
    if error:  # after the time and the process id
        return error.rpartition("]: ")[2][:_LONGEST]
    of_queues = [x.text or "" for x in root.iterfind(f"{_MESSAGES}_global{_TEXT}")]
    asked = [f'"{x.text}@' for x in job.iterfind("JB_hard_queue_list//QR_name")]
    said = [
        *_said_of_job(number, root),
        *(x for x in of_queues if any(queue in x for queue in asked)),
        *of_queues,
    ]
    return next(iter(said), "")[:_LONGEST]


_MESSAGES, _TEXT = "messages/element/SME", "_message_list/element/MES_message"


def _said_of_job(number: str, root: ET.Element) -> Iterator[str]:
    """Yield the messages on one job, without those on queues that it did not ask for."""
    for each in root.iterfind(f"{_MESSAGES}_message_list/element"):
        text = each.findtext("MES_message", "")
        if number in (x.text for x in each.iter("ULNG_value")):
            yield from () if _BUT_ANOTHER_QUEUE in text else (text,)


_LIMIT = r"\b{}=([^,\s]{{1,40}})"


def read_qacct(text: str) -> States:
    """Return the ended jobs that `qacct -j` printed; of one that ran again, the last time."""
    states = []
    for record in re.split(r"^={20,}$", text, flags=re.MULTILINE):
        said = {
            line.partition(" ")[0]: line.partition(" ")[2].strip()
            for line in record.splitlines()
        }
        if "jobnumber" not in said:
            continue
        failed, _, why = said.get("failed", "0").partition(":")
        status = said.get("exit_status", "").partition(" ")[0]
        asked = said.get("category", "")
        time_limit, memory_limit = (
            next(iter(re.findall(_LIMIT.format(name), asked)), "")
            for name in ("h_rt", "h_vmem")
        )
        states.append(
            UnitState(
                manager=_GRID_ENGINE,
                subject=said["jobnumber"],
                state="finished" if failed.strip() == "0" else "failed",
                reason=f"{failed.strip()}: {why.strip()}" if why else "",
                node=said.get("hostname", ""),
                user=said.get("owner", ""),
                by=said.get("deleted_by", "").replace("NONE", ""),  # Altair's
                requested=_epoch(said.get("qsub_time")),
                started=_epoch(said.get("start_time")),
                ended=_epoch(said.get("end_time")),
                time_limit=seconds(time_limit),
                memory_limit=size_in_bytes(memory_limit),
                memory=size_in_bytes(said.get("maxvmem", "")),
                **_exit(status),
            )
        )
    return _by_id(iter(states))


# PBS

_PBS_STATES = {
    "Q": "QUEUED", "R": "RUNNING", "F": "FINISHED", "H": "HELD", "E": "EXITING", "M": "MOVED",
    "S": "SUSPENDED", "U": "SUSPENDED", "W": "WAITING", "T": "TRANSIT", "B": "BEGUN",
}  # fmt: skip
_PBS_CODES = {
    "-24": "JOB_EXEC_KILL_NCPUS_BURST", "-25": "JOB_EXEC_KILL_NCPUS_SUM",
    "-26": "JOB_EXEC_KILL_VMEM", "-27": "JOB_EXEC_KILL_MEM", "-28": "JOB_EXEC_KILL_CPUT",
    "-29": "JOB_EXEC_KILL_WALLTIME",
}  # fmt: skip
_PBS_RUN = re.compile(r"^Job run at .{0,40}? on \(.{0,2000}\)(?: and )?")


def read_qstat_json(text: str) -> States:
    """Return the jobs that `qstat -f -F json -x` printed, by their numbers."""
    jobs = _json(text).get("Jobs") if isinstance(_json(text), dict) else None
    return _by_id(_of_pbs(name, said) for name, said in _objects(jobs))


def _of_pbs(name: str, said: Mapping[str, Any]) -> UnitState:
    wanted, used = said.get("Resource_List") or {}, said.get("resources_used") or {}
    state = _PBS_STATES.get(str(said.get("job_state")), str(said.get("job_state", "")))
    comment = _PBS_RUN.sub("", str(said.get("comment", "")))
    code = str(said.get("Exit_status", ""))
    reason = " ".join(filter(None, (comment, _PBS_CODES.get(code, ""))))
    over = state == "FINISHED"
    return UnitState(
        manager=PBS.name,
        subject=PBS.id_of(name),
        state=state,
        reason=reason[:_LONGEST],
        node=re.split(r"[/*+]", str(said.get("exec_host", "")))[0],
        user=str(said.get("Job_Owner", "")).partition("@")[0],
        requested=_epoch(said.get("qtime")),
        started=_epoch(said.get("stime")),
        ended=_epoch(said.get("obittime") or said.get("mtime")) if over else None,
        time_limit=seconds(str(wanted.get("walltime", ""))),
        memory_limit=size_in_bytes(str(wanted.get("mem", ""))),
        memory=size_in_bytes(str(used.get("mem", ""))),
        log=str(said.get("Error_Path", "")).partition(":")[2],
        **_exit(code, above=_SIGNALLED_IN_PBS),
    )


# LSF


def read_bjobs(text: str) -> States:
    """Return the jobs that `bjobs -o … -json` printed."""
    found = _json(text)
    records = found.get("RECORDS") if isinstance(found, dict) else None
    return _by_id(_of_lsf(said) for _, said in _objects(records))


def _of_lsf(fields: Mapping[str, Any]) -> UnitState:
    said = {k: "" if str(v) == "-" else str(v) for k, v in fields.items()}
    state = said.get("STAT", "")
    over = LSF.is_over(state)
    minutes = re.match(r"\d{1,9}(?:\.\d{1,3})?", said.get("RUNTIMELIMIT", ""))
    limit, used = (
        size_in_bytes(re.sub(r"\s|bytes", "", said.get(x, ""), flags=re.IGNORECASE))
        for x in ("MEMLIMIT", "MAX_MEM")
    )
    return UnitState(
        manager=LSF.name,
        subject=said.get("JOBID", ""),
        state=state,
        reason=(said.get("EXIT_REASON") or said.get("PEND_REASON", ""))[:_LONGEST],
        node=said.get("EXEC_HOST", "").partition(":")[0].rpartition("*")[2],
        user=said.get("USER", ""),
        requested=_epoch(said.get("SUBMIT_TIME")),
        started=_epoch(said.get("START_TIME")),
        ended=_epoch(said.get("FINISH_TIME")) if over else None,
        time_limit=float(minutes[0]) * _MINUTE if minutes else None,
        memory_limit=limit,
        memory=used,
        log=said.get("ERROR_FILE", "").replace("%J", said.get("JOBID", "")),
        **(_exit(said.get("EXIT_CODE", "")) if over else {}),
    )


# HTCondor

_CONDOR_STATES = (
    "", "IDLE", "RUNNING", "REMOVED", "COMPLETED", "HELD", "TRANSFERRING_OUTPUT", "SUSPENDED",
)  # fmt: skip
_CONDOR_FIELDS = "ClusterId,ProcId,JobStatus,HoldReason,RemoveReason,VacateReason,LastRejMatchReason,Owner,QDate,JobCurrentStartDate,JobStartDate,CompletionDate,EnteredCurrentStatus,RequestMemory,MemoryUsage,RemoteHost,LastRemoteHost,AllowedJobDuration,ExitCode,ExitSignal,Err,Iwd"  # fmt: skip
_CONDOR_BY = re.compile(r"\(by user (\S{1,80}?)\)")


def read_condor(text: str) -> States:
    """Return the jobs that `condor_q -json` or `condor_history -json` printed."""
    return _by_id(_of_condor(said) for _, said in _objects(_json(text)))


def _of_condor(said: Mapping[str, Any]) -> UnitState:
    status = said.get("JobStatus")
    known = isinstance(status, int) and 0 < status < len(_CONDOR_STATES)
    state = _CONDOR_STATES[status] if known else str(status or "")  # type: ignore[index]
    why = {
        "HELD": "HoldReason", "REMOVED": "RemoveReason", "IDLE": "VacateReason",
    }.get(state, "")  # fmt: skip
    reason = str(said.get(why) or said.get("LastRejMatchReason") or "")
    over = HTCONDOR.is_over(state)
    err, folder = str(said.get("Err", "")), str(said.get("Iwd", ""))
    by = _CONDOR_BY.search(reason)
    return UnitState(
        manager=HTCONDOR.name,
        subject=f"{said.get('ClusterId')}.{said.get('ProcId')}",
        state=state,
        reason=reason[:_LONGEST],
        node=str(said.get("RemoteHost") or said.get("LastRemoteHost") or "").rpartition(
            "@"
        )[2],
        user=str(said.get("Owner", "")),
        by=by[1] if by and over else "",
        requested=_epoch(said.get("QDate")),
        started=_epoch(said.get("JobCurrentStartDate") or said.get("JobStartDate")),
        time_limit=_epoch(said.get("AllowedJobDuration")),
        memory_limit=_mebibytes(said.get("RequestMemory")),
        memory=_mebibytes(said.get("MemoryUsage")),
        log=str(Path(folder) / err) if err else "",
        **(_end_in_condor(said) if over else {}),
    )


def _end_in_condor(said: Mapping[str, Any]) -> dict[str, Any]:
    """Return when a job ended, and its exit code and signal as far as the ad has them."""
    exits = {"exit_code": said.get("ExitCode"), "signal": said.get("ExitSignal")}
    ended = said.get("CompletionDate") or said.get("EnteredCurrentStatus")
    known = {k: v for k, v in exits.items() if isinstance(v, int)}
    return {"ended": _epoch(ended), **known}


def _mebibytes(number: object) -> int | None:
    """Return bytes; None: it is an expression, or not there."""
    return int(number * _MEBI) if isinstance(number, int | float) else None


# OAR

_OAR_EVENTS = ("WALLTIME", "BESTEFFORT_KILL", "FRAG_JOB_REQUEST")
_OAR_BY = re.compile(r"User (\S{1,80}) requested to frag")


def read_oarstat(text: str) -> States:
    """Return the jobs that `oarstat --json` printed."""
    return _by_id(_of_oar(job, said) for job, said in _objects(_json(text)))


def _of_oar(job: str, said: Mapping[str, Any]) -> UnitState:
    state = str(said.get("state", ""))
    over = OAR.is_over(state)
    described = {
        str(each.get("type")): str(each.get("description", ""))
        for _, each in _objects(said.get("events"))
    }
    happened = [f"{x}: {described[x]}" for x in _OAR_EVENTS if x in described]
    by = _OAR_BY.search(described.get("FRAG_JOB_REQUEST", ""))
    nodes = said.get("assigned_network_address") or [""]
    err = str(said.get("stderr_file") or "")
    return UnitState(
        manager=OAR.name,
        subject=job,
        state=state,
        reason=("; ".join(happened) or str(said.get("message") or ""))[:_LONGEST],
        node=str(nodes[0]),
        user=str(said.get("owner", "")),
        by=by[1] if by and over and "WALLTIME" not in described else "",
        requested=_epoch(said.get("submissionTime")),
        started=_epoch(said.get("startTime")),
        ended=_epoch(said.get("stopTime")) if over else None,
        time_limit=seconds(str(said.get("walltime") or "")),
        log=str(Path(str(said.get("launchingDirectory", ""))) / err) if err else "",
        **(_waited(said.get("exit_code")) if over else {}),
    )


_C = {"LC_ALL": "C"}
_ENDED_IN = (r".{0,200}\.[eo]{id}",)
GRID_ENGINE = JobQueue(
    name=_GRID_ENGINE,
    kind="sge",
    clusters=("SGECluster",),
    variable="SGE_JOB_ID",
    limit="h_rt",
    cancel="qdel",
    tell="qacct -j JOBID",
    questions=(
        Question(("qstat", "-xml", "-j", "{ids}"), read_qstat_xml, most=100),
        Question(
            ("qacct", "-j", "{ids}"),
            read_qacct,
            most=1,
            environment=_C,
            absent="not found",
        ),
    ),
    pending=("pending", "error"),
    lasting=("pending", "error", "running"),
    files=_ENDED_IN,
)
PBS = JobQueue(
    name="PBS",
    kind="pbs",
    clusters=("PBSCluster",),
    variable="PBS_JOBID",
    cut=".",
    limit="walltime",
    cancel="qdel",
    tell="qstat -xf JOBID",
    questions=(
        Question(
            ("qstat", "-f", "-F", "json", "-x", "{ids}"), read_qstat_json,
            separator="", environment=_C, absent="Unknown Job Id",
        ),
    ),
    pending=("QUEUED", "HELD", "WAITING", "TRANSIT"),
    lasting=(
        "QUEUED", "HELD", "WAITING", "TRANSIT", "RUNNING", "EXITING", "MOVED", "SUSPENDED", "BEGUN",
    ),
    ending=("EXITING",),
    files=(*_ENDED_IN, r"{id}\..{0,200}\.(?:ER|OU)"),
)  # fmt: skip
LSF = JobQueue(
    name="LSF",
    kind="lsf",
    clusters=("LSFCluster",),
    variable="LSB_JOBID",
    limit="-W",
    cancel="bkill",
    tell="bhist -l JOBID",
    questions=(
        Question(
            (
                "bjobs", "-o",
                ("jobid stat user exec_host submit_time start_time finish_time runtimelimit "
                "memlimit max_mem exit_code exit_reason pend_reason error_file"),
                "-json", "{ids}",
            ),
            read_bjobs,
            separator="",
            environment={**_C, "LSB_DISPLAY_YEAR": "Y"},
            absent="is not found",
        ),
    ),
    pending=("PEND", "PSUSP", "WAIT", "PROV"),
    lasting=("PEND", "PSUSP", "WAIT", "PROV", "RUN", "USUSP", "SSUSP", "UNKWN", "ZOMBI"),
    files=(r".{0,200}-{id}\.(?:err|out)",),
)  # fmt: skip
HTCONDOR = JobQueue(
    name="HTCondor",
    kind="htcondor",
    clusters=("HTCondorCluster",),
    limit="allowed_job_duration",
    cancel="condor_rm",
    tell="condor_history -l JOBID",
    questions=(
        Question(
            ("condor_q", "-json", "-attributes", _CONDOR_FIELDS, "{ids}"), read_condor,
            separator="",
        ),
        Question(
            (
                "condor_history", "-json", "-attributes", _CONDOR_FIELDS, "-limit", "200",
                "{ids}",
            ),
            read_condor, separator="",
        ),
    ),
    pending=("IDLE",),
    lasting=("IDLE", "RUNNING", "TRANSFERRING_OUTPUT", "SUSPENDED"),
    files=(r"worker-{id}\.err",),
)  # fmt: skip
OAR = JobQueue(
    name="OAR",
    kind="oar",
    clusters=("OARCluster",),
    variable="OAR_JOB_ID",
    limit="walltime",
    cancel="oardel",
    tell="oarstat -fj JOBID",
    questions=(
        Question(
            ("oarstat", "--json", "--full", "--job", "{ids}"), read_oarstat,
            separator="", most=1,
        ),
    ),
    pending=("Waiting", "Hold", "toLaunch", "toAckReservation", "Launching"),
    lasting=(
        "Waiting", "Hold", "toLaunch", "toAckReservation", "Launching", "Running", "Suspended",
        "Resuming", "Finishing",
    ),
    files=(r"OAR\..{0,200}\.?{id}\.stderr",),
)  # fmt: skip
QUEUES = (GRID_ENGINE, PBS, LSF, HTCONDOR, OAR)
