"""Remedies of rules that no kept recording has: each given with its evidence, and not without.

`remedies.toml` has these pairs for all other rules.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from dask_blackbox.analyse import findings_in, verdict_in
from dask_blackbox.events import encoded
from dask_blackbox.finding import Finding
from dask_blackbox.managers.kubernetes_asking import state_of
from dask_blackbox.managers.kubernetes_objects import Pod
from dask_blackbox.sketch import Inputs
from kubernetes_api import a_container, a_pod
from runs_from_rows import (
    MIB,
    START,
    Piece,
    a_departure,
    a_graph,
    a_log_line,
    a_run,
    a_sample,
    a_task,
    a_worker,
    aborted,
    an_event,
    an_exception,
    failed_with,
    killed_worker,
    raised_in,
    succeeded,
)
from sketches import a_night, a_prefix, history_of

GIB = 2**30
Findings = Iterable[Finding]


class Pair(NamedTuple):
    """A remedy of a rule, and two runs.

    Attributes:
        rule: Slug of the rule.
        words: Of the remedy.
        given: Finds a run in which it is given.
        withheld: Finds a run in which it must not be, by no rule.
    """

    rule: str
    words: str
    given: Callable[[], Findings]
    withheld: Callable[[], Findings]


def an_orphan(*, closed: bool) -> Findings:
    left = an_event(
        "cluster-orphaned", "tcp://10.0.0.5:8786", at=20, scheduler="Scheduler-1",
        closed=closed, error="its scheduler still answers",
    )  # fmt: skip
    return findings_in(a_run(left, aborted()))


def a_bug(version: str, line: str) -> Findings:
    return findings_in(
        a_run(
            an_event("scheduler-info", dask=version, distributed=version),
            a_log_line(line, role="scheduler", source="scheduler"),
        )
    )


STOLEN = "in move_task_confirm\n  …\nKeyError: <TaskState ('rechunk', 0) released>"
LOST_ACTOR = (
    "TypeError: SchedulerState._transition_processing_erred() missing 1 required "
    "positional argument: 'worker'"
)


def near_its_limit(*, nthreads: int) -> Findings:
    numbers = {"peak_memory": 370.0 * MIB, "memory_limit": 400.0 * MIB}
    nights = (
        a_night(n, inputs=Inputs(), prefixes=(), numbers=numbers) for n in range(8)
    )
    run = a_run(
        a_worker(at=0.5, memory_limit=400 * MIB, nthreads=nthreads),
        a_task("inc-1", start=1.0),
        a_sample(at=2.0, memory=372 * MIB),
        succeeded(at=9.0),
    )
    return findings_in(run, history=history_of(nights))


def with_more_memory(*, nthreads: int) -> Findings:
    numbers = {"peak_memory": 100.0 * MIB, "memory_limit": 400.0 * MIB}
    nights = (
        a_night(n, duration=60.0, inputs=Inputs(), prefixes=(), numbers=numbers)
        for n in range(30)
    )
    run = a_run(
        a_worker(at=0.5, nthreads=nthreads),
        a_task("inc-1", start=1.0),
        a_sample(at=2.0, memory=350 * MIB),
        succeeded(at=60),
    )
    return findings_in(run, history=history_of(nights))


def overbooked() -> Findings:
    addresses = [f"tcp://w{n}" for n in range(4)]
    return findings_in(
        a_run(
            [
                a_worker(w, pid=n, memory_limit=16 * GIB)
                for n, w in enumerate(addresses)
            ],
            [
                an_event("process-load", w, seconds=10.0, cores=8, host_memory=16 * GIB)
                for w in addresses
            ],
            [a_sample(w, at=5, memory=400 * MIB) for w in addresses],
        )
    )


def said_by_dask() -> Findings:
    text = "Ignoring provided memory limit 100TB due to system memory limit of 23 GiB"
    return findings_in(a_run(a_log_line(text, level=30)))


def ahead(saturation: object) -> Findings:
    """40 blocks of 10 MiB are made in 40 s, and reduced only then."""
    setting = {"distributed": {"scheduler": {"worker-saturation": saturation}}}
    return findings_in(
        a_run(
            a_worker(),
            an_event("graph-updated", "Client-1", at=1, tasks=80),
            [
                a_task(f"load-{n}", start=1 + n, compute=1, nbytes=10 * MIB)
                for n in range(40)
            ],
            [a_task(f"sum-{n}", start=41 + n * 0.4, compute=0.2) for n in range(40)],
            an_event("scheduler-info", config=setting),
        )
    )


def a_part(remedy: str) -> Findings:
    part = an_event(
        "part-failed", at=20.0, what="subflow", name="load", title="It failed",
        cause="It had to.", remedy=remedy, rule="worker-memory-limit",
        confidence="high", retry_advice="memory", retry_confidence="medium",
    )  # fmt: skip
    return verdict_of(failed_with(killed_worker("load-1")), part)


def verdict_of(*pieces: Piece | Iterable[Piece]) -> Findings:
    found = verdict_in(a_run(*pieces))
    return [] if found is None else [found]


CLUSTER = {"kind": "KubeCluster", "units": {"shop": "shop//dask.org/cluster-name=shop"}}
ON_KUBERNETES = (
    an_event("driver-attached", "driver", at=0.1, pid=1, client="C-1", cluster=CLUSTER),
    an_event("manager-asked", "", at=14, manager="Kubernetes", command="list pods"),
)


def of_a_pod(pod: dict[str, Any]) -> Piece:
    state = state_of(msgspec.convert(pod, Pod), (), gone=None)
    return "event", encoded(msgspec.structs.replace(state, at=START + 14))


def waiting_pod(**status: Any) -> Findings:
    """Workers did not arrive; their pod has this status."""
    waited = an_exception("TimeoutError", "Only 0/2 workers arrived after 20")
    pod = a_pod(**{"phase": "Pending"} | status)
    return verdict_of(ON_KUBERNETES, of_a_pod(pod), failed_with(waited))


NO_IMAGE = {
    "containerStatuses": [
        a_container(state={"waiting": {"reason": "ImagePullBackOff", "message": "no"}})
    ]
}
NO_NODE = {
    "conditions": [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "0/3 nodes are available: 3 Insufficient memory.",
        }
    ]
}


def evicted_pod(**status: Any) -> Findings:
    return verdict_of(
        ON_KUBERNETES,
        a_worker(name="shop-default-worker-1a2b3c4d5e"),
        a_graph(),
        a_departure(processing=["boom-1"]),
        an_event("nanny-lost", "tcp://w1", at=13, pid=100),
        raised_in("boom-1", killed_worker("boom-1"), at=14),
        of_a_pod(a_pod(**status)),
    )


DRAINED = {
    "conditions": [
        {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "EvictionByEvictionAPI",
        }
    ]
}
LOW = {
    "phase": "Failed",
    "reason": "Evicted",
    "message": "The node was low on resource: memory. Container worker was using 3Gi.",
}


def with_a_broken(problem: str) -> Findings:
    return findings_in(a_run(a_worker()), broken=[problem])


def nothing_was_read() -> Findings:
    graph = an_event("graph-updated", graph=1, empty_inputs=["read_parquet"])
    return findings_in(a_run(graph, a_task("read_parquet-1", nbytes=1200)))


def no_task_was_sent() -> Findings:
    nights = (a_night(n, facts={}, prefixes=(a_prefix(planned=200),)) for n in range(4))
    same = history_of(msgspec.structs.replace(each, facts={}) for each in nights)
    return findings_in(a_run(a_worker(at=0.5), succeeded(at=9.0)), history=same)


def a_slow_run(*, of_tasks: bool) -> Findings:
    """It takes twice as long as usual: its tasks, or the time between them."""
    each = 4.0 if of_tasks else 1.0
    usual = a_prefix("join", tasks=20, planned=20, seconds=(1.0,) * 6, compute=20.0)
    nights = (
        a_night(n, duration=50.0 + n % 3, inputs=Inputs(), prefixes=(usual,))
        for n in range(30)
    )
    run = a_run(
        a_worker(at=0.5),
        [a_task(f"join-{n}", start=2 + n * 5, compute=each) for n in range(20)],
        succeeded(at=120),
    )
    return findings_in(run, history=history_of(nights))


def grown_again(*, retired: bool) -> Findings:
    """The only worker leaves three times, and the next tasks wait for another one."""
    pieces: list[Piece] = []
    for n in range(4):
        begun, address = 20.0 * n, f"tcp://w{n + 1}"
        pieces += [
            a_graph(at=begun + 1),
            a_worker(address, at=begun + 4, pid=100 + n),
            a_task(f"drift-{n}", worker=address, start=begun + 5),
            *a_departure(
                address,
                at=begun + 8,
                stimulus="retire-workers-1" if retired else "handle-worker-cleanup-1",
                expected=retired,
            ),
        ]
    return findings_in(a_run(pieces, succeeded(at=80)))


PAIRS = [
    Pair(
        "cluster-orphaned",
        "`dask blackbox reap`",
        lambda: an_orphan(closed=False),
        lambda: an_orphan(closed=True),
    ),
    Pair(
        "known-bug",
        "`distributed.scheduler.work-stealing: false`",
        lambda: a_bug("2025.3.0", STOLEN),
        lambda: a_bug("2025.1.0", LOST_ACTOR),
    ),
    Pair(
        "memory-forecast",
        "run fewer tasks at once",
        lambda: near_its_limit(nthreads=2),
        lambda: near_its_limit(nthreads=1),
    ),
    Pair("memory-limit-ignored", "to at most 3.6 GiB", overbooked, said_by_dask),
    Pair(
        "more-memory-than-usual",
        "more threads per worker",
        lambda: with_more_memory(nthreads=2),
        lambda: with_more_memory(nthreads=1),
    ),
    Pair(
        "overproduction",
        "Set it to 1.1",
        lambda: ahead("inf"),
        lambda: ahead(1.1),
    ),
    Pair(
        "part-failed",
        "Give it more.",
        lambda: a_part("Give it more."),
        lambda: a_part("Look at its input."),
    ),
    Pair(
        "pod-not-started",
        "imagePullSecrets",
        lambda: waiting_pod(**NO_IMAGE),
        lambda: waiting_pod(**NO_NODE),
    ),
    Pair(
        "rule-failed",
        "uninstall its package",
        lambda: with_a_broken("my-rule raised KeyError: 'x'"),
        lambda: with_a_broken("blackbox.rules.mute: there is no rule 'spillling'"),
    ),
    Pair(
        "silent-empty-input",
        "raise FileNotFoundError(path)",
        nothing_was_read,
        no_task_was_sent,
    ),
    Pair(
        "slower-than-usual",
        "that these tasks run",
        lambda: a_slow_run(of_tasks=True),
        lambda: a_slow_run(of_tasks=False),
    ),
    Pair(
        "worker-evicted",
        "cluster-autoscaler.kubernetes.io/safe-to-evict",
        lambda: evicted_pod(**DRAINED),
        lambda: evicted_pod(**LOW),
    ),
    Pair(
        "workers-scaled-down",
        "`cluster.adapt(minimum=…)`",
        lambda: grown_again(retired=True),
        lambda: grown_again(retired=False),
    ),
]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.rule)
def test_a_remedy_is_given_with_its_evidence_and_not_without(pair: Pair) -> None:
    given = {each.rule: each.remedy for each in pair.given()}
    withheld = [each.remedy for each in pair.withheld()]

    assert pair.words in given.get(pair.rule, ""), given
    assert [each for each in withheld if pair.words in each] == []


def test_each_rule_without_a_recording_has_a_pair() -> None:
    data = Path(__file__).parent / "data" / "remedies.toml"
    without = tomllib.loads(data.read_text(encoding="utf-8"))["without_a_recording"]

    assert [each.rule for each in PAIRS] == without["rules"]
