"""An end that the run itself ordered is no death, by whatever means the manager ends workers."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from conditions import until
from dask_blackbox import Run, RunCard
from dask_blackbox.analyse import findings_in
from dask_blackbox.analyse.facts.worker_exit_sources import deaths_of, worker_exits_of
from dask_blackbox.capture.driver.ordered_ends import (
    OrderedEnds,
    scheduler_that_ends,
)
from dask_blackbox.capture.driver.patches import Patches
from dask_blackbox.recorder.progress import ProgressCounter
from dask_blackbox.report.workers import worker_processes
from distributed import Scheduler
from distributed.deploy.cluster import Cluster
from distributed.deploy.spec import ProcessInterface, SpecCluster
from runs_from_rows import (
    START,
    Piece,
    a_death,
    a_departure,
    a_graph,
    a_run,
    a_task,
    aborted,
    an_event,
    failed_with,
    killed_worker,
    succeeded,
)
from scenario_runs import SCENARIOS, Home, begin, begin_command, ended, run_scenario

SCHEDULER, WORKER = "tcp://s", "tcp://w1"


def _arrival(name: str) -> Piece:
    facts = {"name": name, "pid": 7, "nanny": "tcp://n1", "nthreads": 1}
    return an_event("worker-added", WORKER, at=1.0, scheduler=SCHEDULER, **facts)


def signalled(*orders: Piece, name: str = "unit-1") -> list[Piece]:
    """Return a worker of which the nanny received SIGTERM at 10 s, while it held a result."""
    return [
        a_graph(),
        an_event("scheduler-info", SCHEDULER, at=0.5),
        _arrival(name),
        a_task("inc-1", worker=WORKER, start=2.0, compute=1.0),
        *orders,
        *a_departure(WORKER, at=10.0, closing="signal-15", processing=["inc-2"]),
        a_graph(at=40.0),
        succeeded(at=50.0),
    ]


def an_order(at: float = 9.0, **facts: object) -> Piece:
    given: dict[str, object] = {
        "pid": 1,
        "cluster": "SLURMCluster",
        "scheduler": SCHEDULER,
    }
    given["workers"] = ["unit-1"]
    return an_event("workers-ended-by-cluster", "driver", at=at, **given | facts)


def test_without_an_order_a_signal_is_a_death() -> None:
    assert len(deaths_of(a_run(signalled()))) == 1


@pytest.mark.parametrize("name", ["unit-1", "unit-1-0"])
def test_a_worker_that_a_cluster_object_ended_did_not_die(name: str) -> None:
    run = a_run(signalled(an_order(), name=name))

    assert deaths_of(run) == ()
    assert [each.rule for each in findings_in(run)] == []
    [exit_] = worker_exits_of(run)
    assert (exit_.ended_by, exit_.ordered_by) == (
        "orderly",
        "the driver's SLURMCluster",
    )
    [process] = worker_processes(run)
    assert process.fate == "left"
    assert "ended by the driver's SLURMCluster" in process.how


@pytest.mark.parametrize(
    "facts",
    [
        {"at": 12.0},  # later than the death
        {"at": -0.5},  # earlier than the worker: another one of the same name
        {"workers": ["unit-10", "unit-"]},  # others
        {"scheduler": "tcp://other"},
    ],
)
def test_an_order_about_something_else_explains_no_death(
    facts: dict[str, object],
) -> None:
    other = an_event("scheduler-info", "tcp://other", at=0.6)

    assert len(deaths_of(a_run(signalled(other, an_order(**facts))))) == 1  # type: ignore[arg-type]


def test_a_worker_of_an_idle_cluster_that_a_gateway_stopped_did_not_die() -> None:
    run = a_run(signalled(an_order(pid=None, cluster="dask-gateway")))

    assert deaths_of(run) == ()
    assert [each.rule for each in findings_in(run)] == []
    [exit_] = worker_exits_of(run)
    assert exit_.ordered_by == "dask-gateway"


def test_what_only_the_scheduler_heard_was_ordered_as_well() -> None:
    heard = an_order(pid=None, cluster="")
    run = a_run(signalled(heard))

    assert deaths_of(run) == ()
    assert [each.rule for each in findings_in(run)] == []
    [exit_] = worker_exits_of(run)
    assert exit_.ordered_by == "a cluster object"
    both = a_run(signalled(heard, an_order(at=9.1)))
    assert worker_exits_of(both)[0].ordered_by == "the driver's SLURMCluster"


def test_who_is_killed_just_before_the_scheduler_hears_an_order_died() -> None:
    """The driver closes its cluster because of that, moments later; it is one clock."""
    late = an_order(at=10.05, pid=None, cluster="")

    assert len(deaths_of(a_run(signalled(late)))) == 1


def nameless(*orders: Piece, name: str = "") -> list[Piece]:
    """Return two workers without names that are gone with their nannies, at 10 and 11 s."""
    return [
        a_graph(),
        an_event("scheduler-info", SCHEDULER, at=0.5),
        *(
            an_event(
                "worker-added", address, at=1.0, name=name or address, pid=pid,
                nanny=f"{address}1", nthreads=1, scheduler=SCHEDULER,
            )
            for pid, address in ((7, WORKER), (8, "tcp://w2"))
        ),
        *orders,
        *a_departure(WORKER, at=10.0, processing=["inc-2"]),
        *a_departure("tcp://w2", at=11.0, processing=["inc-3"]),
        a_graph(at=40.0),
        succeeded(at=50.0),
    ]  # fmt: skip


def test_of_workers_without_names_as_many_as_were_ordered_did_not_die() -> None:
    """As those of SSH, which their cluster object knows by numbers."""
    one = an_order(pid=None, cluster="", workers=["1"])
    both = an_order(pid=None, cluster="", workers=["0", "1"])

    def died(*orders: Piece, name: str = "") -> list[str]:
        return [each.address for each in deaths_of(a_run(nameless(*orders, name=name)))]

    assert died() == [WORKER, "tcp://w2"]
    assert died(one) == ["tcp://w2"]
    assert died(both) == []
    # Another cluster's, another scheduler's, and a job's of which no worker has come.
    assert len(died(an_order(workers=["1"]))) == 2
    assert (
        len(
            died(
                an_order(pid=None, workers=["1"], scheduler="tcp://x"),
                an_event("scheduler-info", "tcp://x", at=0.6),
            )
        )
        == 2
    )
    assert (
        len(died(an_order(pid=None, cluster="", workers=["unit-5"]), name="unit-4"))
        == 2
    )


def test_a_cluster_that_is_closed_ends_all_its_workers() -> None:
    closing = {"what": "SLURMCluster.close", "ends_workers_of": SCHEDULER}
    order = an_event("driver-closing", "driver", at=9.0, **closing)

    assert deaths_of(a_run(signalled(order))) == ()


def test_a_worker_that_is_killed_just_before_the_cluster_is_closed_died() -> None:
    closing = {"what": "SLURMCluster.close", "ends_workers_of": SCHEDULER}
    killed = [
        _arrival("unit-1"),
        *a_death(WORKER, at=10.0, exit_code=-9, pid=7),
        an_event("driver-closing", "driver", at=10.2, **closing),
    ]

    assert len(deaths_of(a_run(killed))) == 1


def test_with_two_clusters_an_order_by_an_unknown_address_explains_no_death() -> None:
    other = an_event("scheduler-info", "tcp://other", at=0.6)
    order = an_order(scheduler="tls://gateway")

    assert deaths_of(a_run(signalled(order))) == ()
    assert len(deaths_of(a_run(signalled(other, order)))) == 1


class _Unit(ProcessInterface):
    def __init__(self, scheduler: str, name: str) -> None:
        super().__init__(scheduler=scheduler)  # type: ignore[no-untyped-call]
        self.name = name


def test_a_cluster_object_reports_each_end_once_and_nothing_that_it_wants() -> None:
    async def orders() -> list[list[str]]:
        noted: list[dict[str, object]] = []
        patches = Patches()
        before = SpecCluster._correct_state_internal
        OrderedEnds(lambda _, facts: noted.append(facts)).watch(patches)
        try:
            own_name = {"cls": _Unit, "options": {"name": "renamed"}}
            async with SpecCluster(
                workers={"a": own_name},
                worker={"cls": _Unit},
                scheduler={"cls": Scheduler, "options": {"dashboard_address": ":0"}},
                asynchronous=True,
            ) as cluster:
                for _ in range(2):  # the second worker is called as the first was
                    cluster.scale(2)
                    await cluster
                    await cluster.scale_down([0])
        finally:
            patches.restore()
        assert SpecCluster._correct_state_internal is before
        return [each["workers"] for each in noted]  # type: ignore[misc]

    assert asyncio.run(orders()) == [["0"], ["0"], ["a", "renamed"]]


def test_only_a_cluster_object_that_owns_its_workers_ends_them() -> None:
    class Foreign(Cluster):
        """As `HelmCluster`: closing it ends nothing."""

    async def ended(*, owns: bool) -> str | None:
        foreign = Foreign(asynchronous=True, quiet=True)  # type: ignore[no-untyped-call]
        if owns:
            foreign.shutdown_on_close = True  # type: ignore[attr-defined]
        try:
            return scheduler_that_ends(foreign, "_close")
        finally:
            await foreign._close()  # type: ignore[no-untyped-call]

    assert asyncio.run(ended(owns=False)) is None
    assert asyncio.run(ended(owns=True)) == ""


def always_on(*pieces: Piece, left: float, client: str = "Client-1") -> list[Piece]:
    """Return a worker that received SIGTERM at 10 s, of a run that its scheduler records."""
    return signalled(
        an_event("driver-attached", "driver", at=0.6, client="Client-1"),
        an_event("client-removed", client, at=left),
        *pieces,
    )


def test_a_worker_that_ends_after_the_client_of_an_always_on_run_did_not_die() -> None:
    run = a_run(always_on(left=9.9))

    assert deaths_of(run) == ()
    assert [each.rule for each in findings_in(run)] == []
    [process] = worker_processes(run)
    assert "ended by somebody, after the run" in process.how


@pytest.mark.parametrize(
    "run",
    [
        always_on(left=10.1),  # it may have left because of the death
        always_on(left=9.9, client="Client-2"),  # somebody else's
        # Its own driver records it, and may have another client.
        signalled(
            an_event("driver-attached", "driver", at=0.6, client="Client-1", pid=1),
            an_event("client-removed", "Client-1", at=9.9),
        ),
    ],
    ids=["earlier", "another-client", "recorded-by-its-driver"],
)
def test_a_worker_that_ends_while_its_run_may_continue_died(run: list[Piece]) -> None:
    assert len(deaths_of(a_run(run))) == 1


def a_stop(*pieces: Piece, at: float = 12.0, **facts: str) -> list[Piece]:
    """Return workers that received SIGTERM at 10 s, and their scheduler a while later."""
    given = {"scheduler": SCHEDULER, "reason": "signal-2"}
    closing = an_event("scheduler-closing", at=at, **given | facts)
    working = always_on(*pieces, left=50.0)[:-2]
    return [*working, closing, aborted(at=at + 1)]


def another_worker(at: float | None) -> list[Piece]:
    """Return a second worker, which received SIGTERM as well; None: it did not."""
    facts = {"name": "unit-2", "pid": 8, "nanny": "tcp://n2", "nthreads": 1}
    here = an_event("worker-added", "tcp://w2", at=1.1, scheduler=SCHEDULER, **facts)
    if at is None:
        return [here]
    return [here, *a_departure("tcp://w2", at=at, closing="signal-15")]


@pytest.mark.parametrize(
    "run",
    [
        a_stop(),
        a_stop(*another_worker(11.0), at=19.0),  # the manager took its time
        a_stop(*another_worker(None)),  # the scheduler ended before it did
    ],
    ids=["one", "two", "one-left"],
)
def test_a_worker_of_a_cluster_that_was_stopped_as_a_whole_did_not_die(
    run: list[Piece],
) -> None:
    tables = a_run(run)

    assert deaths_of(tables) == ()
    assert not {each.rule for each in findings_in(tables)} & {
        "workers-died",
        "worker-preempted",
    }
    how = worker_processes(tables)[0].how
    assert "ended by the stop of the whole cluster" in how


@pytest.mark.parametrize(
    "run",
    [
        a_stop(reason="terminate", at=30.0),  # nobody stopped it
        a_stop(scheduler="tcp://other"),
        a_stop(*another_worker(None), at=19.0),  # the others had gone on without it
        a_stop(at=45.0),  # so had the run without any
        a_stop(
            an_event("process-ancestors", WORKER, units={"SLURM_JOB_ID": "5"}),
            an_event(
                "unit-state", "5", at=11.0,
                manager="Slurm", state="TIMEOUT", ended=START + 10,
            ),
        ),
    ],
    ids=["closed", "another-scheduler", "another-worker", "long-before", "time-limit"],
)  # fmt: skip
def test_a_worker_that_was_not_stopped_with_its_cluster_died(run: list[Piece]) -> None:
    assert len(deaths_of(a_run(run))) == 1


def test_a_scheduler_that_is_stopped_after_the_outcome_explains_no_death() -> None:
    run = a_run(
        signalled(
            an_event(
                "scheduler-closing", at=14, scheduler=SCHEDULER, reason="signal-15"
            ),
            failed_with(killed_worker("inc-2"), at=11.0),
        )[:-1]
    )

    assert len(deaths_of(run)) == 1


def test_a_client_that_is_closed_ends_none() -> None:
    order = an_event("driver-closing", "driver", at=9.0, what="Client.close")

    assert len(deaths_of(a_run(signalled(order)))) == 1


def test_progress_counts_no_ordered_end() -> None:
    def counted(*orders: Piece) -> int:
        counter = ProgressCounter()
        pieces = [each for each in signalled(*orders) if each[0] == "event"]
        rows = sorted((row for _, row in pieces), key=lambda row: row[0])
        counter.add({"event": rows})
        return counter.progress().lost_workers

    left = (
        an_event("driver-attached", "driver", at=0.6, client="Client-1"),
        an_event("client-removed", "Client-1", at=9.9),
    )
    assert (counted(), counted(an_order()), counted(*left)) == (1, 0, 0)


@pytest.mark.processes
@pytest.mark.parametrize(
    ("how", "verdict"),
    [
        ("succeeds", None),
        pytest.param("fails", "driver-exception", marks=pytest.mark.nightly),
    ],
)
@pytest.mark.nightly
def test_a_cluster_object_that_ends_workers_by_signals(
    how: str, verdict: str | None, homes: Callable[[], Home]
) -> None:
    home = homes()
    card_file = Path(home.folder) / "card.json"
    words = ["blackbox", "run", "--store", str(home.folder / "store")]
    words += ["--card", str(card_file), "--", sys.executable]
    ended(home, begin_command(home, *words, str(SCENARIOS / "ordered_ends.py"), how))

    card = msgspec.json.decode(card_file.read_bytes(), type=RunCard)
    run = Run.open(card.links["recording"])
    assert card.numbers["deaths"] == 0
    assert (card.verdict and card.verdict.rule) == verdict
    assert [finding.rule for finding in card.findings] == []
    assert {each.fate for each in worker_processes(run)} == {"left"}
    assert [each.ended_by for each in worker_exits_of(run)] == ["orderly", "orderly"]


ALWAYS_ON = {"DASK_DISTRIBUTED__SCHEDULER__PRELOAD": "['dask_blackbox.preload']"}
"""Has every scheduler record, also one that a cluster object starts in its own process."""


def is_a_good_run(card: RunCard) -> None:
    """Check that two workers left a run that succeeded, and that nothing is said of it."""
    run = Run.open(card.links["recording"])
    assert (card.state, card.numbers["deaths"]) == ("succeeded", 0)
    assert [finding.rule for finding in card.findings] == []
    ends = [each.ended_by for each in worker_exits_of(run)]
    assert len(ends) == 2
    assert {*ends} <= {"orderly", None}  # or it outlived the run


@pytest.mark.processes
@pytest.mark.nightly
@pytest.mark.parametrize("how", ["succeeds", "fails"])
def test_a_cluster_object_whose_scheduler_records(
    how: str, homes: Callable[[], Home]
) -> None:
    home = homes()
    store = home.folder / "store"
    settings = ALWAYS_ON | {"DASK_BLACKBOX__STORE__URL": str(store)}
    run_scenario(home, "ordered_ends.py", how, code=None, **settings)

    [complete] = until(lambda: list(store.rglob("complete.json")), "the recording")
    card = msgspec.json.decode(
        (complete.parent / "card.json").read_bytes(), type=RunCard
    )
    is_a_good_run(card)


@pytest.mark.processes
def test_a_cluster_object_of_another_process_that_is_not_recorded(
    homes: Callable[[], Home],
) -> None:
    home, owner = homes(), homes()
    owns = begin(owner, "ordered_ends.py", "owns", str(home.folder))
    card_file = home.folder / "card.json"
    words = ["blackbox", "run", "--store", str(home.folder / "store")]
    words += ["--card", str(card_file), "--", sys.executable]
    script = str(SCENARIOS / "ordered_ends.py")
    ended(home, begin_command(home, *words, script, "visits", str(home.folder)))

    ended(owner, owns)
    is_a_good_run(msgspec.json.decode(card_file.read_bytes(), type=RunCard))
