"""What ended a worker under a cluster manager is not known unless the manager is asked."""

from __future__ import annotations

import subprocess
import sys

import psutil
import pytest
from dask_blackbox.analyse.facts.managers import manager_of
from runs_from_rows import (
    Piece,
    a_departure,
    a_run,
    a_worker,
    an_event,
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
