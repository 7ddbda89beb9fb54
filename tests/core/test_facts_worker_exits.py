"""One account of each worker's exit, fused from all who tell of it."""

from __future__ import annotations

import msgspec
import pytest
from dask_blackbox.analyse import findings_in
from dask_blackbox.analyse.facts.worker_exit import WorkerExit
from dask_blackbox.analyse.facts.worker_exit_sources import deaths_of, worker_exits_of
from dask_blackbox.run_tables import RunTables
from runs_from_rows import (
    MIB,
    Piece,
    a_death,
    a_departure,
    a_graph,
    a_log_line,
    a_run,
    a_sample,
    a_worker,
    an_event,
    failed_with,
    killed_worker,
    raised_in,
    succeeded,
    the_verdict,
)

NANNY = "tcp://n1"


def a_nanny_line(message: str, *, at: float, nanny: str = NANNY) -> Piece:
    return a_log_line(message, at=at, role="nanny", source=nanny, pid=1, level=20)


def only(run: RunTables) -> WorkerExit:
    [worker] = worker_exits_of(run)
    return worker


def test_a_nannys_line_and_the_removal_are_enough() -> None:
    run = a_run(
        a_worker(),
        a_nanny_line("Worker process 100 was killed by signal 11", at=9.9),
        a_departure(at=10, processing=["boom-1"]),
        raised_in("boom-1", killed_worker("boom-1")),
    )
    worker = only(run)

    assert worker.died
    assert (worker.exit_code, worker.ended_by) == (-11, "crash")
    assert not worker.has_report
    found = the_verdict(run)
    assert found.rule == "worker-segfault"


def test_an_exit_status_is_read_from_the_nannys_line() -> None:
    run = a_run(
        a_worker(),
        a_nanny_line("Worker process 100 exited with status 3", at=10.1),
        a_departure(at=10, processing=["boom-1"]),
        raised_in("boom-1", killed_worker("boom-1")),
    )

    assert (only(run).exit_code, only(run).ended_by) == (3, "itself")


def test_the_exit_report_is_believed_before_the_nannys_line() -> None:
    run = a_run(
        a_worker(),
        a_nanny_line("Worker process 100 exited with status 3", at=10.1),
        a_death(exit_code=-9, at=10, executing=["boom-1"]),
    )

    assert only(run).exit_code == -9


def test_a_second_clusters_deaths_are_not_the_teardown_of_the_first() -> None:
    run = a_run(
        an_event("scheduler-info", "tcp://s1", at=0.5),
        a_worker("tcp://w1", at=1, pid=100),
        a_departure("tcp://w1", at=5, closing="nanny-close"),
        an_event("scheduler-closing", at=5.1),
        an_event("scheduler-info", "tcp://s2", at=6),
        a_worker("tcp://w2", at=7, pid=200, nanny="tcp://n2"),
        a_nanny_line(
            "Worker process 200 was killed by signal 11", at=9, nanny="tcp://n2"
        ),
        a_departure("tcp://w2", at=9, processing=["boom-1"]),
        raised_in("boom-1", killed_worker("boom-1")),
    )

    assert [death.address for death in deaths_of(run)] == ["tcp://w2"]
    assert worker_exits_of(run)[0].ended_by == "orderly"


def test_a_worker_belongs_to_the_scheduler_that_its_arrival_names() -> None:
    arrival = {"pid": 100, "nanny": NANNY, "scheduler": "tcp://s1"}
    run = a_run(
        an_event("scheduler-info", "tcp://s1", at=0.5),
        an_event("scheduler-info", "tcp://s2", at=0.6),
        an_event("worker-added", "tcp://w1", at=1, **arrival),
        an_event("scheduler-closing", at=8, scheduler="tcp://s2"),
        a_death(exit_code=-11, at=9, executing=["boom-1"]),
    )

    assert [death.ended_by for death in deaths_of(run)] == ["crash"]


def test_what_ends_after_its_scheduler_closed_is_no_death() -> None:
    run = a_run(
        an_event("scheduler-info", "tcp://s1", at=0.5),
        a_worker(),
        an_event("scheduler-closing", at=8, scheduler="tcp://s1"),
        a_death(exit_code=-15, at=9),
    )

    assert deaths_of(run) == ()


def test_a_worker_process_that_is_signalled_under_a_living_nanny() -> None:
    """The script ends its cluster a moment later: its nanny gets a signal as well."""
    run = a_run(
        a_worker(),
        a_graph(),
        a_nanny_line("Worker process 100 was killed by signal 15", at=10.0),
        a_nanny_line("Restarting worker (status=Status.running)", at=10.05),
        a_nanny_line("Received signal SIGTERM (15)", at=10.1),
        a_nanny_line(f"Closing Nanny at '{NANNY}'. Reason: signal-15", at=10.1),
        a_death(exit_code=-15, at=10, executing=["render-1"]),
        raised_in("render-1", killed_worker("render-1")),
    )

    assert (only(run).closing, only(run).ended_by) == (None, "signal")
    found = the_verdict(run)
    assert found.rule == "worker-signalled"


def test_a_signal_long_after_the_end_does_not_explain_it() -> None:
    run = a_run(
        a_worker(),
        a_nanny_line("Received signal SIGTERM (15)", at=11.5),
        a_death(exit_code=-15, at=10, executing=["render-1"]),
    )

    assert (only(run).closing, only(run).ended_by) == (None, "signal")


def test_a_nanny_that_the_script_ends_later_is_not_why_its_worker_left() -> None:
    """The worker could not read its task and stopped; its process took a while to end."""
    reason = "worker-handle-scheduler-connection-broken"
    error = msgspec.structs.replace(killed_worker("ratio-1"), chain_ids=("7",))
    raised = {"call": "Future.result", "exception": error.exception, "pid": 1}
    run = a_run(
        an_event("driver-attached", "driver", at=0.5, pid=1, boot="this kernel"),
        an_event("scheduler-info", "tcp://s", at=0.6, pid=10, boot="this kernel"),
        a_worker(),
        a_graph(),
        a_death(
            exit_code=-9,
            at=10,
            late=10,
            asked="signal-15",
            processing=["ratio-1"],
            lines=[f"Stopping worker at tcp://w1. Reason: {reason}"],
        ),
        an_event("driver-call-failed", "driver", at=10.05, identity="7", **raised),
        an_event(
            "driver-signalled",
            "driver",
            at=10.1,
            signal="SIGTERM",
            target=11,
            handling="7",
        ),
        a_nanny_line("Received signal SIGTERM (15)", at=10.15),
        a_nanny_line(f"Closing Nanny at '{NANNY}'. Reason: signal-15", at=10.15),
        raised_in("ratio-1", error, at=10.04),
    )

    assert (only(run).closing, only(run).exit_code) == (reason, None)
    found = the_verdict(run)
    assert found.rule == "environment-mismatch"


def test_a_host_that_is_stopped_ends_the_nanny_too() -> None:
    run = a_run(
        a_worker(),
        a_graph(),
        a_nanny_line("Received signal SIGTERM (15)", at=9.9),
        a_nanny_line(f"Closing Nanny at '{NANNY}'. Reason: signal-15", at=9.9),
        a_death(exit_code=-15, at=10, executing=["render-1"]),
        raised_in("render-1", killed_worker("render-1")),
    )

    assert (only(run).closing, only(run).ended_by) == ("signal-15", "host")


def test_a_signal_of_the_drivers_own_script_names_its_line() -> None:
    sent = {"signal": "SIGKILL", "target": 100, "file": "/jobs/chaos.py", "line": 7}
    run = a_run(
        an_event("driver-attached", "driver", at=0.5, pid=1, boot="this kernel"),
        a_worker(),
        an_event("process-ancestors", "tcp://w1", at=1, pid=100, boot="this kernel"),
        a_graph(),
        an_event("driver-signalled", "driver", at=10, **sent),
        a_death(exit_code=-9, at=10, executing=["render-1"]),
        raised_in("render-1", killed_worker("render-1"), at=11),
    )

    assert (only(run).ended_by, only(run).sent_from) == ("script", "/jobs/chaos.py:7")
    found = the_verdict(run)
    assert "the run's own script sent it SIGKILL (at /jobs/chaos.py:7)" in found.cause


def test_a_removal_by_request_is_no_death() -> None:
    run = a_run(
        a_worker(),
        a_departure(stimulus="retire-workers-1", expected=True, processing=["a-1"]),
    )

    assert (only(run).died, only(run).ended_by) == (False, "orderly")
    assert only(run).left == only(run).gone


def test_a_worker_that_is_there_to_the_end_has_no_exit() -> None:
    run = a_run(a_worker())

    assert (only(run).left, only(run).gone, only(run).ended_by) == (None, None, None)


@pytest.mark.parametrize(
    ("kind", "died"), [("nanny-lost", True), ("nanny-responded", False)]
)
def test_an_idle_worker_that_vanishes_with_its_nanny_has_died(
    kind: str,
    died: bool,  # noqa: FBT001
) -> None:
    nanny = an_event(kind, "tcp://w1", at=11, pid=100)
    run = a_run(a_worker(), a_departure(at=10), nanny, succeeded(at=60))

    assert only(run).died is died
    assert only(run).ended_by == ("with-its-nanny" if died else "orderly")


def test_samples_come_from_heartbeats_where_nobody_reported() -> None:
    run = a_run(
        a_worker(),
        a_sample(at=8, memory=300 * MIB),
        a_departure(at=10, processing=["boom-1"]),
        failed_with(killed_worker("boom-1")),
    )

    assert only(run).peak_memory == 300 * MIB


def test_exits_are_derived_once() -> None:
    run = a_run(a_worker(), a_death(exit_code=-11, executing=["boom-1"]))
    findings_in(run)

    assert worker_exits_of(run) is worker_exits_of(run)
    assert deaths_of(run) is deaths_of(run)
