"""What ended a worker under a cluster manager is not known unless the manager is asked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path, PurePosixPath

import msgspec
import psutil
import pytest
from dask_blackbox.analyse.facts.managers import manager_of
from dask_blackbox.capture.memory_limits import memory_limits
from dask_blackbox.run_tables import RunTables
from runs_from_rows import (
    START,
    Piece,
    a_departure,
    a_graph,
    a_run,
    a_sample,
    a_task,
    a_worker,
    aborted,
    an_event,
    an_exception,
    killed_worker,
    raised_in,
    the_verdict,
)


def stopped(*more: Piece) -> list[Piece]:
    return [
        a_worker(),
        *more,
        *a_departure(processing=["boom-1"], closing="signal-15"),
        *raised_in("boom-1", killed_worker("boom-1")),
    ]


def a_cluster(kind: str | None) -> Piece:
    return an_event("driver-attached", "driver", at=0.5, cluster={"kind": kind})


@pytest.mark.parametrize(
    ("kind", "manager"),
    [
        ("SLURMCluster", "Slurm"),
        ("PBSCluster", "PBS"),
        ("OurCluster", "the manager of the OurCluster"),
        ("LocalCluster", None),
        ("SSHCluster", None),
        (None, None),
    ],
)
def test_a_signal_is_proof_of_preemption_only_without_a_manager(
    kind: str | None, manager: str | None
) -> None:
    run = a_run(stopped(a_cluster(kind)))
    found = the_verdict(run)

    assert manager_of(run) == manager
    assert found.rule == "worker-preempted"
    if manager is None:
        assert (found.confidence, found.retry_advice) == ("high", "transient")
        return
    assert (found.confidence, found.retry_advice) == ("medium", "unknown")
    assert "preempted" not in found.title
    assert f"unknown, because {manager} was not asked" in found.cause
    assert f"Find out from {manager}" in found.remedy


def test_a_limit_of_the_process_is_not_the_memory_of_the_host() -> None:
    program = """
import resource
limit = 1 << 30
resource.setrlimit(resource.RLIMIT_RSS, (limit, limit))
from distributed.system import MEMORY_LIMIT
from dask_blackbox.capture.worker.process_load import host_memory
assert MEMORY_LIMIT == limit
print(host_memory(MEMORY_LIMIT), host_memory(limit - 1))
"""
    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout

    assert printed.split() == [
        str(psutil.virtual_memory().total),
        str((1 << 30) - 1),
    ]


def in_a_job(*pieces: Piece) -> RunTables:
    """Return a run whose driver runs in a job of Slurm, with a time limit of 100 s."""
    running = {"state": "RUNNING", "started": START, "time_limit": 100.0}
    run = a_run(
        an_event("unit-state", "7", at=1, manager="Slurm", **running),
        a_worker(),
        a_graph(),
        a_task("load-1", start=3, compute=37),
        *pieces,
    )
    host = {"kind": "slurm", "job_id": "7"}
    run.manifest = msgspec.structs.replace(run.manifest, host=host)
    return run


def ended_as(state: str, *, at: float, by: str = "", reason: str = "") -> list[Piece]:
    facts = {"manager": "Slurm", "ended": START + at, "time_limit": 100.0, "by": by}
    facts["reason"] = reason
    return [
        a_task("load-2", start=at / 2, compute=at / 2 - 1),
        an_event("driver-ended", at=at, signal=15),
        an_event("unit-state", "7", at=at + 2, state=state, **facts),
        aborted(at=at),
    ]


@pytest.mark.parametrize(
    ("state", "by", "rule", "advice", "says"),
    [
        (
            "TIMEOUT",
            "",
            "stopped-by-host",
            "environment",
            "Reached its --time of 1 m 40 s",
        ),
        (
            "CANCELLED",
            "zoe",
            "stopped-by-host",
            "unknown",
            "job 7 was cancelled by zoe",
        ),
        ("PREEMPTED", "", "stopped-by-host", "transient", "job 7 was preempted"),
        ("COMPLETED", "", "driver-killed", "transient", "Find who sent SIGTERM"),
    ],
)
def test_what_ended_the_drivers_own_job_ended_the_driver(
    state: str, by: str, rule: str, advice: str, says: str
) -> None:
    found = the_verdict(in_a_job(*ended_as(state, at=130, by=by)))

    assert (found.rule, found.retry_advice) == (rule, advice)
    assert says in f"{found.title} {found.cause} {found.remedy}"
    assert ("--time" in found.remedy) == (state == "TIMEOUT")


def test_a_job_whose_processes_still_end_has_reached_its_limit() -> None:
    found = the_verdict(in_a_job(*ended_as("COMPLETING", at=130, reason="TimeLimit")))

    assert found.rule == "stopped-by-host"
    assert "Reached its --time of 1 m 40 s" in found.title


@pytest.mark.parametrize(("last", "limited"), [(60, True), (98, True), (20, False)])
def test_a_job_whose_time_was_over_may_have_ended_driver_and_recorder(
    last: float, *, limited: bool
) -> None:
    found = the_verdict(in_a_job(a_sample(at=last), ("ending", None)))

    assert (found.rule, found.confidence) == ("driver-killed", "medium")
    assert ("time limit of 1 m 40 s of Slurm job 7" in found.title) is limited
    assert found.retry_advice == ("environment" if limited else "transient")


def test_host_cgroup_and_soft_limits_are_different_facts(tmp_path: Path) -> None:
    program = """
import resource
from dask_blackbox.capture.memory_limits import memory_limits
before = memory_limits()
for kind in (resource.RLIMIT_AS, resource.RLIMIT_RSS):
    resource.setrlimit(kind, (1 << 30, 1 << 30))
print([memory_limits().get(name) == before.get(name) for name in ("host", "cgroup")])
print(memory_limits()["ulimit -v"], "ulimit -v" in before, "ulimit -m" in memory_limits())
"""
    printed = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout

    assert printed.split("\n")[:2] == ["[True, True]", f"{1 << 30} False False"]
    assert memory_limits()["host"] == psutil.virtual_memory().total


@pytest.mark.parametrize(
    ("file", "text", "limit"),
    [
        ("memory.max", "536870912\n", 536_870_912),
        ("memory.max", "max\n", None),
        ("memory.limit_in_bytes", "536870912\n", 536_870_912),
        ("memory.limit_in_bytes", "9223372036854771712\n", None),
    ],
    ids=["v2", "v2-none", "v1", "v1-none"],
)
def test_the_limit_of_a_cgroup_is_the_least_on_the_way_to_its_root(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    file: str,
    text: str,
    limit: int | None,
) -> None:
    own = tmp_path / "job" / "step"
    own.mkdir(parents=True)
    (own.parent / file).write_text(text)
    folders = [PurePosixPath(each) for each in (own, own.parent, tmp_path)]
    monkeypatch.setattr("dask_blackbox.capture.memory_limits.cgroups", lambda: folders)

    assert memory_limits().get("cgroup") == limit


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        (
            {"host": 2**34, "cgroup": 2**33, "ulimit -v": 2**29},
            ("The address space of its process is limited to 512 MiB (`ulimit -v`, which job "
            "queues set), and an allocation above that fails; the host has 16 GiB and its cgroup "
            "may use 8 GiB."),
        ),
        ({"host": 2**34, "ulimit -d": 2**29}, "The data of its process is limited to 512 MiB"),
        ({"host": 2**34, "ulimit -v": 2**40}, ""),
        ({"host": 2**34}, ""),
        ({}, ""),
    ],
    ids=["address-space", "data", "above-the-host", "no-soft-limit", "not-recorded"],
)  # fmt: skip
def test_the_limit_that_an_allocation_met_is_named(
    limits: dict[str, int], says: str
) -> None:
    found = the_verdict(
        a_run(
            a_worker(memory_limit=2**30),
            an_event("process-ancestors", "tcp://w1", at=1.5, limits=limits),
            *raised_in("boom-1", an_exception("MemoryError", "")),
        )
    )

    assert found.rule == "task-memory-error"
    assert (says in found.cause) if says else ("limited to" not in found.cause)
    assert found.remedy.startswith("Raise that limit") is bool(says)
    assert found.retry_advice == ("environment" if says else "memory")


@pytest.mark.parametrize(
    ("name", "message", "numbers"),
    [
        (
            "OutOfMemoryError",
            (
                "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of "
                "15.77 GiB of which 1.44 GiB is free."
            ),
            (
                "(Tried to allocate 2.00 GiB, GPU 0 has a total capacity of 15.77 GiB of which "
                "1.44 GiB is free)"
            ),
        ),
        (
            "OutOfMemoryError",
            "Out of memory allocating 1,600 bytes (allocated so far: 14,400 bytes).",
            "(allocating 1,600 bytes, allocated so far: 14,400 bytes)",
        ),
        (
            "MemoryError",
            (
                "std::bad_alloc: out_of_memory: CUDA error (failed to allocate 1600 bytes) at: "
                "rmm/mr/cuda_memory_resource.hpp:62: cudaErrorMemoryAllocation out of memory"
            ),
            "(failed to allocate 1600 bytes)",
        ),
    ],
    ids=["torch", "cupy", "rmm"],
)  # fmt: skip
def test_the_memory_of_a_gpu_is_not_that_of_a_process(
    name: str, message: str, numbers: str
) -> None:
    found = the_verdict(
        a_run(
            a_worker(memory_limit=2**32, nthreads=2),
            an_event(
                "process-ancestors", "tcp://w1", at=1.5, limits={"ulimit -v": 2**33}
            ),
            *raised_in("train-1", an_exception(name, message)),
        )
    )

    assert f"the memory of the GPU was exhausted {numbers}" in found.cause
    assert "`threads_per_worker=1`" in found.remedy
    assert "ulimit" not in f"{found.title} {found.cause} {found.remedy}"


def test_a_number_of_bytes_is_read_as_it_is_written() -> None:
    message = "Unable to allocate 1,600,000,000 bytes"
    found = the_verdict(
        a_run(
            a_worker(memory_limit=2**30),
            *raised_in("boom-1", an_exception("MemoryError", message)),
        )
    )

    assert found.rule == "task-memory-error"
    assert "split the input into at least 2 pieces" in found.remedy
