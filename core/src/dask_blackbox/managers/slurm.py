"""Slurm: `squeue`, `scontrol` where that fails, `sacct` for what only accounting knows."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from dask_blackbox.events import UnitState
from dask_blackbox.managers.base import (
    JobQueue,
    Question,
    States,
    moment,
    seconds,
    size_in_bytes,
)

_NAME = "Slurm"
_FIELDS = (
    "JobID", "State", "Reason", "NodeList", "UserName", "SubmitTime", "StartTime", "EndTime",
    "TimeLimit", "MinMemory", "exit_code", "Name", "STDERR",
)  # fmt: skip
_ACCOUNTED = (
    "JobIDRaw", "State", "Reason", "NodeList", "User", "Submit", "Start", "End", "Timelimit",
    "ReqMem", "ExitCode", "MaxRSS",
)  # fmt: skip
_EPOCH = {"SLURM_TIME_FORMAT": "%s", "LC_ALL": "C"}
_NOTHING = ("None", "(null)", "N/A", "Unknown")


def _state(fields: Mapping[str, str]) -> UnitState:
    """Return what Slurm said of a job; the names of the fields are those of `squeue`."""
    said = {k: "" if v.strip() in _NOTHING else v.strip() for k, v in fields.items()}
    state, _, by = said.get("State", "").partition(" by ")
    code, number = _exit(said.get("exit_code", ""))
    exits: dict[str, Any] = {}
    if SLURM.is_over(state):
        exits = {"exit_code": code, "signal": number}
    return UnitState(
        manager=_NAME,
        subject=said.get("JobID", ""),
        state=state.rstrip("+"),
        by=_account(by),
        reason=said.get("Reason", ""),
        node=said.get("NodeList", ""),
        user=said.get("UserName", "").partition("(")[0],
        requested=moment(said.get("SubmitTime", "")),
        started=moment(said.get("StartTime", "")),
        ended=moment(said.get("EndTime", "")),
        time_limit=seconds(said.get("TimeLimit", "")),
        memory_limit=size_in_bytes(said.get("MinMemory", ""), unit="M"),
        memory=size_in_bytes(said.get("MaxRSS", "")),
        log=_path(said),
        **exits,
    )


def _account(user: str) -> str:
    """Return what people call a user that Slurm names by number, as far as this host knows."""
    if not user.isdigit():
        return user
    try:
        import pwd  # not everywhere

        return pwd.getpwuid(int(user)).pw_name
    except (ImportError, KeyError, OverflowError):
        return f"user {user}"


def _exit(text: str) -> tuple[int | None, int | None]:
    """Return exit code and signal: `0:15`, or the status that the system returned."""
    code, colon, number = text.partition(":")
    if not code.isdigit() or (colon and not number.isdigit()):
        return None, None
    if colon:
        return int(code), int(number) or None
    try:
        status = os.waitstatus_to_exitcode(int(code))
    except ValueError:
        return None, None
    return (0, -status) if status < 0 else (status, None)


def _path(said: Mapping[str, str]) -> str:
    """Return the path of a job's log with what Slurm puts into it; empty: something is unknown."""
    job, name = said.get("JobID", ""), said.get("Name", "")
    node = said.get("NodeList", "").partition(",")[0]
    known = {
        "%j": job,
        "%J": job,
        "%A": job,
        "%x": name,
        "%N": node,
        "%u": said.get("UserName", ""),
    }
    path = re.sub(
        r"%[a-zA-Z]", lambda it: known.get(it[0]) or it[0], said.get("STDERR", "")
    )
    return "" if re.search(r"%\d{0,2}[a-zA-Z]", path) else path


def read_squeue(text: str) -> States:
    """Return the states that `squeue` printed, by job."""
    rows = (line.split("|", len(_FIELDS) - 1) for line in text.splitlines())
    states = [
        _state({**dict(zip(_FIELDS, row, strict=True)), "STDERR": row[-1].rstrip("|")})
        for row in rows
        if len(row) == len(_FIELDS)
    ]
    return {each.subject: each for each in states}


_OF_SCONTROL = {
    "JobId": "JobID", "JobState": "State", "Reason": "Reason", "NodeList": "NodeList",
    "UserId": "UserName", "SubmitTime": "SubmitTime", "StartTime": "StartTime",
    "EndTime": "EndTime", "TimeLimit": "TimeLimit", "MinMemoryNode": "MinMemory",
    "ExitCode": "exit_code", "JobName": "Name", "StdErr": "STDERR",
}  # fmt: skip


def read_scontrol(text: str) -> States:
    """Return the state that `scontrol --oneliner show job` printed."""
    states = []
    for line in text.splitlines():
        said = dict(each.partition("=")[::2] for each in line.split(" ") if "=" in each)
        if "JobId" in said:
            known = {ours: said.get(own, "") for own, ours in _OF_SCONTROL.items()}
            states.append(_state(known))
    return {each.subject: each for each in states}


_OF_SACCT = {
    "JobIDRaw": "JobID", "User": "UserName", "Submit": "SubmitTime", "Start": "StartTime",
    "End": "EndTime", "Timelimit": "TimeLimit", "ReqMem": "MinMemory", "ExitCode": "exit_code",
}  # fmt: skip


def read_sacct(text: str) -> States:
    """Return the states that `sacct` printed; what a job's steps used is the job's."""
    jobs: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        row = line.split("|")
        if len(row) != len(_ACCOUNTED):
            continue
        names = (_OF_SACCT.get(name, name) for name in _ACCOUNTED)
        said = dict(zip(names, row, strict=True))
        job, _, step = said["JobID"].partition(".")
        if not step:
            jobs[job] = said
        elif job in jobs:
            used = [jobs[job]["MaxRSS"], said["MaxRSS"]]
            jobs[job]["MaxRSS"] = max(used, key=lambda each: size_in_bytes(each) or 0)
    return {job: _state(said) for job, said in jobs.items()}


def _is_for_accounting(known: UnitState | None) -> bool:
    """Return whether only accounting knows more: a job that is gone, by whom, how much."""
    return known is None or known.state in ("CANCELLED", "OUT_OF_MEMORY")


SLURM = JobQueue(
    name=_NAME,
    kind="slurm",
    clusters=("SLURMCluster",),
    variable="SLURM_JOB_ID",
    limit="--time",
    cancel="scancel",
    tell="scontrol show job JOBID",
    questions=(
        Question(
            (
                "squeue", "--noheader", "--states=all", "--jobs={ids}",
                f"--Format={','.join(f'{name}:|' for name in _FIELDS)}",
            ),
            read_squeue,
            environment=_EPOCH,
        ),
        Question(
            ("scontrol", "--oneliner", "show", "job", "{ids}"),
            read_scontrol,
            separator="",
            most=1,
            environment=_EPOCH,
            absent="Invalid job id",
        ),
        Question(
            (
                "sacct", "--noheader", "--parsable2", "--jobs={ids}",
                f"--format={','.join(_ACCOUNTED)}",
            ),
            read_sacct,
            wanted=_is_for_accounting,
            environment=_EPOCH,
        ),
    ),
    pending=("PENDING", "CONFIGURING"),
    lasting=(
        "PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "REQUEUE", "RESIZING",
        "SIGNALING", "STAGE_OUT", "STOPPED", "SPECIAL_EXIT", "RESV_DEL_HOLD",
    ),
    ending=("COMPLETING",),
    files=(r".{0,200}-{id}\.err", r"slurm-{id}\.out", r".{0,200}-{id}\.out"),
)  # fmt: skip
