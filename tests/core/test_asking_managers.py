"""Cluster managers are asked what became of workers' jobs, and what they say is the verdict."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from dask_blackbox.events import ManagerAsked, UnitLog, UnitState, decoded
from dask_blackbox.managers import manager_of_cluster, unit_named_in, unit_of_host
from dask_blackbox.managers.asking import MOST_CALLS, Asker, end_of_log
from dask_blackbox.managers.base import seconds, size_in_bytes
from dask_blackbox.managers.slurm import SLURM, read_sacct, read_scontrol, read_squeue
from dask_blackbox.recorder.units import UnitWatch
from dask_blackbox.report.workers import worker_processes
from runs_from_rows import (
    START,
    Piece,
    a_death,
    a_departure,
    a_run,
    a_worker,
    an_event,
    an_exception,
    failed_with,
    killed_worker,
    raised_in,
    the_verdict,
)

WORKER, NAME, JOB = "tcp://w1", "SLURMCluster-0", "12"

# What `squeue` of Slurm 22.05 printed.
SQUEUE = """\
5|PENDING|PartitionDown||root|1795949097|N/A|N/A|5:00|100M|0|w|/logs/w-%J.err|
6|CANCELLED|None|vm|root|1795949097|1795949097|1795949098|5:00|100M|15|w|/logs/w-%J.err|
3|FAILED|NonZeroExitCode|vm|root|1795949097|1795949097|1795949097|1-02:00:00|100M|32512|w|/logs/%x-%N.err|
1|TIMEOUT|TimeLimit|vm|root|1795947436|1795947436|1795947516|1:00|300M|15|w|/logs/w-%q.err|
"""
SCONTROL = (
    "JobId=2 JobName=w UserId=root(0) GroupId=root(0) JobState=CANCELLED Reason=None "
    "Requeue=1 ExitCode=0:15 RunTime=00:00:01 TimeLimit=00:01:00 SubmitTime=1795947043 "
    "StartTime=1795947044 EndTime=1795947045 NodeList=vm MinMemoryNode=300M "
    "StdErr=/logs/w-%J.err StdOut=/logs/w-%J.out Power= \n"
)
SACCT = """\
12|CANCELLED by 1000|None|n1|kim|1795947043|1795947044|1795947045|00:01:00|300M|0:0|
12.batch|CANCELLED|None|n1||1795947044|1795947044|1795947045|||0:15|2048K
12.extern|COMPLETED|None|n1||1795947044|1795947044|1795947045|||0:0|10K
"""


def test_squeue_says_state_reason_limits_and_where_the_log_is() -> None:
    states = read_squeue(SQUEUE)

    assert {job: (s.state, s.reason) for job, s in states.items()} == {
        "5": ("PENDING", "PartitionDown"),
        "6": ("CANCELLED", ""),
        "3": ("FAILED", "NonZeroExitCode"),
        "1": ("TIMEOUT", "TimeLimit"),
    }
    assert (states["3"].exit_code, states["3"].signal) == (127, None)
    assert (states["1"].exit_code, states["1"].signal) == (0, 15)
    assert states["5"].exit_code is None
    assert states["1"].time_limit == 60
    assert states["3"].time_limit == 26 * 3600
    assert states["1"].memory_limit == 300 * 2**20
    assert (states["1"].started, states["1"].ended) == (1795947436, 1795947516)
    assert (states["5"].log, states["3"].log) == ("/logs/w-5.err", "/logs/w-vm.err")
    assert states["1"].log == ""  # a part of its name is unknown


def test_other_commands_of_slurm_say_the_same_and_who_cancelled() -> None:
    [shown] = read_scontrol(SCONTROL).values()
    [accounted] = read_sacct(SACCT.replace("by 1000", "by 987654321")).values()
    [by_root] = read_sacct(SACCT.replace("by 1000", "by 0")).values()

    assert (shown.subject, shown.state, shown.user) == ("2", "CANCELLED", "root")
    assert (shown.signal, shown.time_limit, shown.log) == (15, 60, "/logs/w-2.err")
    # It names them by number, which nobody can ask.
    assert (accounted.state, accounted.by) == ("CANCELLED", "user 987654321")
    assert by_root.by == "root"
    assert (accounted.memory, accounted.node) == (2 * 2**20, "n1")


@pytest.mark.parametrize("text", ["", "slurm_load_jobs error\n", "a|b|c\n", "|" * 40])
def test_output_of_another_form_says_nothing(text: str) -> None:
    assert not read_scontrol(text)
    assert not read_sacct(text)
    assert all(not each.state for each in read_squeue(text).values())


def test_durations_and_sizes_are_read_as_queues_write_them() -> None:
    written = ("1:00", "02:03:04", "1-02", "1-02:03:04", "UNLIMITED", "")
    assert [seconds(each) for each in written] == [
        60.0, 7384.0, 93600.0, 93784.0, None, None,
    ]  # fmt: skip
    assert [size_in_bytes(each, unit="M") for each in ("300M", "1.5G", "7", "4Gc")] == [
        300 * 2**20, 3 * 2**29, 7 * 2**20, None,
    ]  # fmt: skip


def test_clusters_environments_and_hosts_name_their_manager() -> None:
    named = {"SLURM_JOB_ID": JOB, "HOME": "/"}
    inside = {"kind": "airflow", "within": [{"kind": "slurm", "job_id": "9"}]}

    assert manager_of_cluster("SLURMCluster") is SLURM
    assert manager_of_cluster("LocalCluster") is None
    assert unit_named_in(named) == (SLURM, JOB)
    assert unit_of_host({"kind": "slurm", "job_id": "8"}) == (SLURM, "8")
    assert unit_of_host(inside) == (SLURM, "9")
    assert unit_of_host({"kind": "cron"}) is None


# Asking: bounded, and silent


def a_command(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder with the only commands that there are."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/bin:/usr/bin")
    for each in ("squeue", "scontrol", "sacct"):
        a_command(folder, each, "echo 'Access denied' >&2; exit 1")
    return folder


def reports_of(asker: Asker, *units: str, within: float = 5.0) -> list[ManagerAsked]:
    events = list(asker.ask(units, within=within))
    return [each for each in events if isinstance(each, ManagerAsked)]


def test_a_manager_that_refuses_is_asked_twice_and_says_why(commands: Path) -> None:
    asker = Asker(SLURM)
    first, second, third = (reports_of(asker, JOB) for _ in range(3))

    assert first[0].error == "`squeue` failed with exit code 1: Access denied"
    assert [each.command for each in first] == ["squeue", "scontrol", "sacct"]
    assert len(second) == len(first)
    assert third == []


def test_commands_that_are_not_installed_are_not_asked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    asker = Asker(SLURM)

    assert [each.error for each in reports_of(asker, JOB)] == [
        "`squeue` was not found",
        "`scontrol` was not found",
        "`sacct` was not found",
    ]
    assert reports_of(asker, JOB) == []


def test_a_manager_that_does_not_answer_is_not_waited_for(commands: Path) -> None:
    a_command(commands, "squeue", "sleep 60")
    [report] = reports_of(Asker(SLURM), JOB, within=0.4)

    # What was left of that time when the command was started.
    assert re.fullmatch(r"`squeue` did not answer within 0\.\d s", report.error)
    assert report.seconds < 60


def test_the_calls_of_a_run_are_bounded(commands: Path) -> None:
    a_command(commands, "squeue", ":")
    a_command(commands, "sacct", ":")
    a_command(commands, "scontrol", ":")
    asker = Asker(SLURM)
    for _ in range(MOST_CALLS):
        reports_of(asker, *map(str, range(500)))

    assert asker.calls == MOST_CALLS


def test_only_what_was_asked_for_is_believed(commands: Path) -> None:
    a_command(commands, "squeue", f"printf '%s' '{SQUEUE}'")
    found = [e for e in Asker(SLURM).ask(["6", "99"]) if isinstance(e, UnitState)]

    assert [(each.subject, each.state) for each in found] == [("6", "CANCELLED")]


def test_the_log_of_a_job_is_found_without_its_manager(tmp_path: Path) -> None:
    (tmp_path / "dask-worker-112.err").write_text("another job\n")
    (tmp_path / "dask-worker-12.err").write_text("x\n" * 100_000 + "the end\n")
    log = end_of_log(SLURM, JOB, tmp_path, None)

    assert (log.lines[-1], len(log.lines), log.error) == ("the end", 20, "")
    assert log.left_out == 200_008 - sum(len(each) + 1 for each in log.lines)
    assert end_of_log(SLURM, "7", tmp_path, None).error == "no file of it was found"


# The recorder: when it asks


def rows_of(
    *pieces: tuple[str, str, Mapping[str, object]],
) -> dict[str, list[list[object]]]:
    now = time.time()
    return {
        "event": [[now, kind, subject, json.dumps(d)] for kind, subject, d in pieces]
    }


NAMED = ("units-named", "driver", {"cluster": "SLURMCluster", "units": {NAME: JOB}})
ADDED = ("worker-added", WORKER, {"name": NAME})
REMOVED = ("worker-removed", WORKER, {"expected": False})
ORDERED = ("workers-ended-by-cluster", "driver", {"workers": [NAME]})


def asked_after(*pieces: tuple[str, str, Mapping[str, object]]) -> list[object]:
    """Return the events of a recorder's watch, from these rows until it has finished."""
    taken: list[list[object]] = []

    async def watch() -> None:
        watched = UnitWatch(taken.append, {})
        for each in pieces:
            watched.add_rows(rows_of(each))
        watched.look()
        await watched.finish()
        await asyncio.sleep(0)

    asyncio.run(watch())
    return [decoded(float(str(at)), str(k), str(s), str(d)) for at, k, s, d in taken]


def test_a_job_whose_worker_died_is_asked_for_with_its_log(
    commands: Path, tmp_path: Path
) -> None:
    log = tmp_path / "w-12.err"
    log.write_text(
        "slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT T DUE TO TIME LIMIT ***\n"
    )
    line = f"12|TIMEOUT|TimeLimit|n1|kim|1|2|3|1:00|1M|15|w|{log}|"
    a_command(commands, "squeue", f"echo '{line}'")
    events = asked_after(NAMED, ADDED, REMOVED, ORDERED)

    [state] = [each for each in events if isinstance(each, UnitState)]
    [end] = [each for each in events if isinstance(each, UnitLog)]
    assert (state.subject, state.state) == (JOB, "TIMEOUT")
    assert "DUE TO TIME LIMIT" in end.lines[0]


def test_a_healthy_run_asks_once_and_reads_no_log(commands: Path) -> None:
    a_command(
        commands, "squeue", "echo '12|COMPLETED|None|n1|kim|1|2|3|1:00|1M|0|w|/x|'"
    )
    events = asked_after(NAMED, ADDED, ORDERED, REMOVED)

    assert [type(each) for each in events] == [ManagerAsked, UnitState]


def test_an_order_that_names_the_worker_of_a_job_ends_that_job(commands: Path) -> None:
    """Where the scheduler records, no cluster object names its jobs."""
    a_command(
        commands, "squeue", "echo '12|COMPLETED|None|n1|kim|1|2|3|1:00|1M|0|w|/x|'"
    )
    placed = ("process-ancestors", WORKER, {"units": {"SLURM_JOB_ID": JOB}})
    events = asked_after(ADDED, placed, ORDERED, REMOVED)

    assert [type(each) for each in events] == [ManagerAsked, UnitState]


def test_no_unit_no_question() -> None:
    assert asked_after(ADDED, REMOVED) == []


# What is said of it


def ended(
    state: str, reason: str = "", *lines: str, by: str = "", kind: str = "SLURMCluster"
) -> list[Piece]:
    """Return a worker of Slurm's job 12 that received SIGTERM, and what Slurm says of that."""
    facts = {
        "manager": "Slurm", "state": state, "reason": reason, "node": "n1", "by": by,
        "started": START + 1, "ended": START + 5, "time_limit": 60.0, "memory_limit": 2**28,
    }  # fmt: skip
    return [
        an_event("driver-attached", "driver", at=0.5, cluster={"kind": kind}),
        a_worker(WORKER),
        an_event("process-ancestors", WORKER, at=1.5, units={"SLURM_JOB_ID": JOB}),
        *a_departure(WORKER, processing=["boom-1"], closing="signal-15"),
        an_event("manager-asked", at=6.0, manager="Slurm", command="squeue"),
        an_event("unit-state", JOB, at=6.0, **facts),
        *([an_event("unit-log", JOB, at=6.0, lines=list(lines))] if lines else []),
        *raised_in("boom-1", killed_worker("boom-1")),
    ]


_STEP = "slurmstepd-vm: error: "
_GONE = f"{_STEP}*** JOB 12 ON vm CANCELLED AT 2026-11-29T10:45:17"
_MEMORY = f"{_STEP}StepId=12.batch exceeded memory limit (313786368 > 104857600), being killed"


@pytest.mark.parametrize(
    ("given", "rule", "retry", "text"),
    [
        (ended("TIMEOUT", "TimeLimit"), "worker-time-limit", "environment", "1 m 00 s"),
        (
            ended("CANCELLED", "", f"{_GONE} DUE TO TIME LIMIT ***"),
            "worker-time-limit", "environment", "DUE TO TIME LIMIT",
        ),
        # Its processes are still ending, which may take minutes.
        (ended("COMPLETING", "TimeLimit"), "worker-time-limit", "environment", "1 m 00 s"),
        (ended("COMPLETING", "", f"{_GONE} ***"), "worker-cancelled", "unknown", "cancelled"),
        (ended("OUT_OF_MEMORY"), "worker-job-memory", "memory", "256 MiB"),
        (
            ended("FAILED", "JobLaunchFailure", f"{_GONE} ***", _MEMORY),
            "worker-job-memory", "memory", "at 299 MiB of its limit of 100 MiB",
        ),
        (ended("PREEMPTED"), "worker-preempted", "transient", "preempted its job 12"),
        (ended("NODE_FAIL"), "worker-node-failed", "transient", "n1"),
        (
            ended("PENDING", "BeginTime", f"{_GONE} DUE TO NODE FAILURE, SEE SLURMCTLD LOG ***"),
            "worker-node-failed", "transient", "NODE FAILURE",
        ),
        (ended("CANCELLED", by="1000"), "worker-cancelled", "unknown", "by 1000"),
        (
            ended("CANCELLED", "", f"{_GONE} ***", kind="LocalCluster"),
            "worker-cancelled", "unknown", "Slurm does not say who did",
        ),
    ],
    ids=[
        "time", "time-by-log", "time-while-ending", "cancelled-while-ending", "memory", "memory-by-log", "preempted", "node", "requeued",
        "cancelled", "without-a-cluster-object",
    ],
)  # fmt: skip
def test_what_the_manager_says_is_the_verdict(
    given: list[Piece], rule: str, retry: str, text: str
) -> None:
    found = the_verdict(a_run(given))
    said = f"{found.title} {found.cause}"

    assert (found.rule, found.retry_advice, found.confidence) == (rule, retry, "high")
    assert text in said
    assert any("job 12" in each.text for each in found.evidence)


@pytest.mark.parametrize(
    ("error", "state", "because"),
    [
        ("`squeue` was not found", "", "`squeue` was not found"),
        ("", "RUNNING", "Slurm reports its job 12 as RUNNING"),
        ("", "", "Slurm knows nothing of its job"),
    ],
    ids=["missing", "running", "unknown"],
)
def test_without_an_answer_the_cause_is_unknown_and_why(
    error: str, state: str, because: str
) -> None:
    said = an_event("unit-state", JOB, at=6.0, manager="Slurm", state=state)
    found = the_verdict(
        a_run(
            an_event(
                "driver-attached", "driver", at=0.5, cluster={"kind": "SLURMCluster"}
            ),
            a_worker(WORKER),
            an_event("process-ancestors", WORKER, at=1.5, units={"SLURM_JOB_ID": JOB}),
            *a_departure(WORKER, processing=["boom-1"], closing="signal-15"),
            an_event("manager-asked", at=6.0, manager="Slurm", error=error),
            *([said] if state else []),
            *raised_in("boom-1", killed_worker("boom-1")),
        )
    )

    assert (found.rule, found.confidence) == ("worker-preempted", "medium")
    assert f"why is unknown, because {because}" in found.cause
    assert found.retry_advice == "unknown"


def never_arrived(*said: Piece) -> list[Piece]:
    """Return a driver that waited for a worker of Slurm's job 12, and what Slurm said of that."""
    waited = "Only 0/1 workers arrived after 30"
    raised = an_exception("WorkerStartTimeoutError", waited)
    return [
        an_event("scheduler-info", "tcp://s", at=0.4),
        an_event("driver-attached", "driver", at=0.5, cluster={"kind": "SLURMCluster"}),
        an_event("units-named", at=1.0, cluster="SLURMCluster", units={NAME: JOB}),
        *said,
        failed_with(raised),
    ]


@pytest.mark.parametrize(
    ("reason", "retry"),
    [
        ("Resources", "transient"),
        ("PartitionConfig", "environment"),
        ("PartitionDown", "environment"),
        ("QOSMaxCpuPerUserLimit", "environment"),
        ("SomethingNew", "unknown"),
    ],
)
def test_jobs_that_wait_are_why_workers_did_not_arrive(reason: str, retry: str) -> None:
    waits = an_event("unit-state", JOB, at=5.0, state="PENDING", reason=reason)
    # The cluster object cancels it as the run ends.
    cancelled = an_event("unit-state", JOB, at=40.0, state="CANCELLED", reason=reason)
    found = the_verdict(a_run(never_arrived(waits, cancelled)))

    assert (found.rule, found.confidence) == ("workers-pending", "high")
    assert found.retry_advice == retry
    assert f"Slurm job {JOB} was pending ({reason})" in found.title


def test_each_reason_for_which_jobs_wait_is_named() -> None:
    other = "13"
    found = the_verdict(
        a_run(
            never_arrived(
                an_event(
                    "units-named", at=1.1, cluster="SLURMCluster", units={"w-2": other}
                ),
                an_event(
                    "unit-state", JOB, at=5.0, state="PENDING", reason="Resources"
                ),
                an_event(
                    "unit-state", other, at=5.0, state="PENDING", reason="Priority"
                ),
            )
        )
    )

    assert "were pending (Resources, Priority)" in found.title
    assert found.retry_advice == "transient"


def test_the_log_of_a_job_says_why_its_worker_did_not_start() -> None:
    failed = an_event("unit-state", JOB, at=5.0, state="FAILED", exit_code=127)
    line = "slurm_script: line 12: /opt/no/such/python: No such file or directory"
    log = an_event("unit-log", JOB, at=5.0, path="/logs/w-12.err", lines=[line, ""])
    found = the_verdict(a_run(never_arrived(failed, log)))

    assert (found.rule, found.retry_advice) == ("worker-start-failed", "environment")
    assert "/opt/no/such/python: No such file or directory" in found.title
    assert "exit code 127" in found.cause


@pytest.mark.parametrize(
    "line",
    [
        "/spool/job00012/slurm_script: line 10: module: command not found",
        "ModuleCmd_Load.c(213):ERROR:105: Unable to locate a modulefile for 'science'",
        'Lmod has detected the following error: The following module(s) are unknown: "science"',
    ],
)
def test_a_module_that_could_not_be_loaded_is_why_its_worker_did_not_start(
    line: str,
) -> None:
    """The script goes on without it, and ends because it lacks what that would have brought."""
    failed = an_event("unit-state", JOB, at=5.0, state="FAILED", exit_code=127)
    last = "slurm_script: line 12: python-of-science: command not found"
    log = an_event("unit-log", JOB, at=5.0, path="/logs/w-12.err", lines=[line, last])
    found = the_verdict(a_run(never_arrived(failed, log)))

    assert found.rule == "worker-start-failed"
    assert found.title == f"Workers did not start: {line.removeprefix(_SCRIPT)}"
    assert last in found.cause
    assert f"Before that: “{line}”" in found.cause


@pytest.mark.parametrize(
    ("state", "cgroup", "own", "at_limit", "remedy"),
    [
        (
            "RUNNING",
            2**28,
            2**29,
            True,
            "Dask's own limit of 512 MiB was above that of",
        ),
        ("OUT_OF_MEMORY", 2**28, 2**29, True, "set `memory_limit` below the job's"),
        ("RUNNING", 2**28, 2**27, True, "leaves too little of the job's 256 MiB"),
        ("RUNNING", 2**28, None, True, "Dask had no limit"),
        ("RUNNING", 2**33, 2**29, False, "above what the container or host has"),
        ("RUNNING", None, 2**29, False, "above what the container or host has"),
    ],
)
def test_a_kill_by_the_kernel_names_the_limit_of_the_job_that_it_met(
    state: str, cgroup: int | None, own: int | None, *, at_limit: bool, remedy: str
) -> None:
    """With cgroups, the kernel kills a process of a job, and the job continues."""
    facts = {
        "manager": "Slurm", "state": state, "node": "n1", "started": START + 1,
        "ended": START + 12 if state != "RUNNING" else None, "memory_limit": 2**28,
    }  # fmt: skip
    limits = {"host": 2**35} | ({"cgroup": cgroup} if cgroup else {})
    placed = {"units": {"SLURM_JOB_ID": JOB}, "limits": limits}
    run = a_run(
        an_event("driver-attached", "driver", at=0.5, cluster={"kind": "SLURMCluster"}),
        a_worker(WORKER, memory_limit=own),
        an_event("process-ancestors", WORKER, at=1.5, **placed),
        *a_death(WORKER, exit_code=-9, executing=["boom-1"], oom_kills=1),
        an_event("manager-asked", at=11.0, manager="Slurm", command="squeue"),
        an_event("unit-state", JOB, at=11.0, **facts),
        *raised_in("boom-1", killed_worker("boom-1")),
    )
    found = the_verdict(run)

    assert (found.rule, found.confidence) == ("kernel-oom", "high")
    assert found.retry_advice == "memory"
    assert ("memory limit of 256 MiB of Slurm job 12" in found.title) is at_limit
    assert remedy in found.remedy


def test_a_worker_that_dies_at_once_has_its_limit_from_its_nanny() -> None:
    named = {"kind": "SLURMCluster", "units": {NAME: JOB}}
    running = {"manager": "Slurm", "state": "RUNNING", "memory_limit": 2**28}
    run = a_run(
        an_event("driver-attached", "driver", at=0.5, cluster=named),
        a_worker(WORKER, name=NAME, memory_limit=2**29),
        *a_death(
            WORKER, exit_code=-9, executing=["boom-1"], oom_kills=1, cgroup_limit=2**28
        ),
        an_event("unit-state", JOB, at=11.0, **running),
        *raised_in("boom-1", killed_worker("boom-1")),
    )

    assert "memory limit of 256 MiB of Slurm job 12" in the_verdict(run).title


_SCRIPT = "/spool/job00012/slurm_script: line 10: "


def test_the_table_of_workers_has_the_job_of_each() -> None:
    [process] = worker_processes(a_run(ended("TIMEOUT", "TimeLimit")))

    assert process.how.endswith("; Slurm job 12 on n1: TIMEOUT")
