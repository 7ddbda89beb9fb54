"""Runs on real clusters, each with what must be reported of it.

    python tests/core/scenarios/real_runs.py STORE NAME…

A run takes a client; what it raises is how it ends.  Prints what is wrong with its card, and
exits with 1 if anything is.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import dask
import numpy as np
from dask_blackbox import Run
from dask_blackbox.analyse.case import Case
from dask_blackbox.card import RunCard
from distributed import Client, LocalCluster, get_client, wait

__all__ = ["RUNS", "RealRun"]

_SLEPT = ("io-bound",)  # their tasks sleep, which is waiting for something outside
_MEMORY = ("spilling", "memory-near-limit", "overproduction")


class RealRun(NamedTuple):
    """A run, and what is true of it.

    Attributes:
        run: Does it.
        verdict: The cause; None: it succeeds.
        findings: Findings that must be there.
        may: Findings of a run that succeeds which may be there too, as they are true.
        key: A part of the key that the verdict names.
        cluster: Arguments of `LocalCluster`.
        settings: Of `dask.config`.
    """

    run: Callable[[Client], Any]
    verdict: str | None = None
    findings: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    key: str = ""
    cluster: Mapping[str, Any] = MappingProxyType({})
    settings: Mapping[str, Any] = MappingProxyType({})


def hog(mebibytes: int, pieces: int = 40) -> int:
    """Grow step by step, as real tasks do."""
    held = []
    for _ in range(pieces):
        held.append(bytearray(os.urandom(1024)) * (mebibytes * 1024 // pieces))
        time.sleep(0.02)
    return len(held)


def inc(number: int) -> int:
    time.sleep(0.01)
    return number + 1


def divide(number: int) -> float:
    return 10 / number


def added(*numbers: Any) -> Any:
    return sum(numbers)


def crash(_: object = None) -> None:
    time.sleep(0.3)
    faulthandler._sigsegv()  # type: ignore[attr-defined]


def leave(_: object = None) -> None:
    time.sleep(0.3)
    os._exit(0)


def after(_: object, number: int, seconds: float = 0.05) -> int:
    time.sleep(seconds)
    return number


def merged(parts: list[int], seconds: float = 5.0) -> int:
    time.sleep(seconds)
    return sum(parts)


def python_loop(seed: int, steps: int = 300_000) -> float:
    """Hold the GIL, as plain Python does."""
    price = float(seed)
    for step in range(steps):
        price = (price * 1.000001 + step) % 1_000_003
    return price


def exception_in_delayed(client: Client) -> None:
    parts = [dask.delayed(divide)(n) for n in (5, 2, 0, 4)]
    dask.delayed(added)(*parts).compute()


def memory_limit_with_innocents(client: Client) -> None:
    innocents = client.map(inc, range(200), pure=False)
    client.gather([*innocents, client.submit(hog, 900, key="hog-1")])


def beside_others(how: Callable[..., Any]) -> Callable[[Client], None]:
    def run(client: Client) -> None:
        parts = [dask.delayed(inc)(n) for n in range(20)]
        dask.delayed(added)(*parts, dask.delayed(how)(0)).compute()

    return run


def driver_fails(client: Client) -> None:
    client.gather(client.map(inc, range(10)))
    amounts = {"monday": 1}
    print(amounts["tuesday"])


def nested_client(client: Client) -> None:
    def outer(number: int) -> int:
        answer: int = get_client().submit(inc, number).result()
        return answer

    client.submit(outer, 1, key="outer-1").result(timeout=8)


def nobody_has_the_resource(client: Client) -> None:
    client.submit(inc, 1, resources={"GPU": 1}, key="needs-gpu").result()


def lock_as_dependency(client: Client) -> None:
    here, there = client.scheduler_info()["workers"]
    lock = client.submit(threading.Lock, workers=[here], key="lock-1")
    client.submit(id, lock, workers=[there], key="use-1").result(timeout=8)


def healthy_restart(client: Client) -> None:
    client.gather(client.map(inc, range(20)))
    client.restart()
    client.gather(client.map(inc, range(20)))


def healthy_second(client: Client) -> None:
    client.gather(client.map(python_loop, range(6)))


def healthy_frame(client: Client) -> None:
    frame = dask.datasets.timeseries(end="2000-01-03", freq="10s", seed=1)
    frame.x.mean().compute()


def data_in_the_graph(client: Client) -> None:
    table = np.random.default_rng(1).random(8_000_000)
    client.gather([client.submit(after, table, n, pure=False) for n in range(3)])


def read_again_and_again(client: Client) -> None:
    """Every answer begins with reading everything again."""
    import dask.dataframe as dd
    import pandas as pd

    def read(number: int) -> pd.DataFrame:
        python_loop(number, 6_000_000)
        return pd.DataFrame({"x": np.arange(1_000.0)})

    ddf = dd.from_map(read, range(8), meta=pd.DataFrame({"x": [1.0]}))
    parts = ddf.to_delayed()
    for fold in (len, lambda p: p.x.sum(), lambda p: p.x.max(), lambda p: p.x.std()):
        dask.compute(*[dask.delayed(fold)(part) for part in parts])


def second_half_is_one_task(client: Client) -> None:
    """Ten seconds on two threads; the last task takes five of them."""
    client.gather(client.map(after, [0] * 17, range(17), [0.6] * 16 + [5.0]))


def second_half_is_one_merge(client: Client) -> None:
    """What the parts are merged in is one task, without its like."""
    parts = client.map(after, [0] * 20, range(20), [1.0] * 20)
    client.submit(merged, parts).result()


def driver_computes_most(client: Client) -> None:
    """Workers idle for most of it, while the driver works on what they gave."""
    for _ in range(2):
        client.gather(client.map(after, [0] * 4, range(4), [0.5] * 4, pure=False))
        begun = time.thread_time()
        while time.thread_time() - begun < 6:
            python_loop(1)


def chunks_of_a_third_of_a_worker(client: Client) -> None:
    """Pieces of 330 MiB on a worker of 1 GiB, which spills them."""

    def block_of(number: int) -> Any:
        return np.full(330 * 2**20 // 8, float(number))

    kept = client.map(block_of, range(5))
    wait(kept)
    client.gather(client.map(np.sum, kept))


_SMALL = {"memory_limit": "400MiB"}
_FOUR = {"n_workers": 4}
_ONE = {"n_workers": 1}
_PATIENT = {"blackbox.stall.end-run": "1 hour"}

RUNS: dict[str, RealRun] = {
    each.run.__name__ if name is None else name: each
    for name, each in (
        (None, RealRun(exception_in_delayed, "task-exception", key="divide")),
        (
            None,
            RealRun(
                memory_limit_with_innocents,
                "worker-memory-limit",
                key="hog",
                cluster=_SMALL,
            ),
        ),
        ("segfault", RealRun(beside_others(crash), "worker-segfault", key="crash")),
        ("exit_0", RealRun(beside_others(leave), "worker-exit", key="leave")),
        (None, RealRun(driver_fails, "driver-exception")),
        (
            None,
            RealRun(
                nested_client,
                "nested-client-deadlock",
                key="outer-1",
                cluster=_ONE,
                settings=_PATIENT,
            ),
        ),
        (
            None,
            RealRun(
                nobody_has_the_resource,
                "no-valid-worker",
                key="needs-gpu",
                settings={"blackbox.stall.end-run": "4s"},
            ),
        ),
        (
            None,
            RealRun(
                lock_as_dependency,
                "dependency-not-serializable",
                key="lock-1",
                settings=_PATIENT,
            ),
        ),
        (None, RealRun(healthy_restart)),
        (None, RealRun(healthy_second)),
        (None, RealRun(healthy_frame)),
        (None, RealRun(data_in_the_graph, None, ("large-graph",))),
        (None, RealRun(read_again_and_again, None, ("recomputed-work",))),
        (None, RealRun(second_half_is_one_task, None, ("straggler",), _SLEPT)),
        (
            None,
            RealRun(
                second_half_is_one_merge, None, ("straggler",), _SLEPT, cluster=_FOUR
            ),
        ),
        (None, RealRun(driver_computes_most, None, ("driver-bound",), _SLEPT)),
        (
            None,
            RealRun(
                chunks_of_a_third_of_a_worker,
                None,
                ("chunks-too-large",),
                _MEMORY,
                cluster=_ONE,
            ),
        ),
    )
}


def card_of(name: str, store: str) -> RunCard | None:
    """Run one of `RUNS`, recorded; return its card."""
    from dask_blackbox.driver import recording

    case = RUNS[name]
    cluster = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": "1GiB"}
    settings = {
        "distributed.scheduler.allowed-failures": 1,
        # A restart takes longer than 15 s beside other tests: the cluster then closes what
        # has just come back.
        "distributed.deploy.lost-worker-timeout": "5 minutes",
        **case.settings,
    }
    if case.settings:
        settings["blackbox.stall.after"] = "2s"
    with (
        dask.config.set(settings),
        LocalCluster(dashboard_address=None, **{**cluster, **case.cluster}) as local,
        Client(local) as client,
    ):
        try:
            with recording(client, store=store, job=name) as recorded:
                case.run(client)
        except Exception as error:  # noqa: BLE001 - they fail on purpose
            print(f"{name}: {type(error).__name__}: {str(error)[:200]}")
    return recorded.card


_OF_TIME = frozenset({"driver-bound", "straggler"})
"""Rules that allow for what other processes take of a host: there, time proves less."""


def _expected(case: RealRun, card: RunCard) -> set[str]:
    """Return what has to be found: on a host that others kept busy, nothing about time."""
    run = Run.open(card.links["recording"])
    busy = Case(run).task_activity.busy
    return {*case.findings} - (_OF_TIME if busy else frozenset())


def problems(case: RealRun, card: RunCard | None) -> list[str]:
    """Return what is wrong with a card."""
    if card is None:
        return ["there is no card"]
    rule = None if card.verdict is None else card.verdict.rule
    if rule != case.verdict:
        return [f"the verdict is {rule}, not {case.verdict}"]
    key = "" if card.verdict is None else card.verdict.subject.key or ""
    found = {each.rule for each in card.findings}
    wrong = [] if case.key in key else [f"it names {key!r}, not {case.key!r}"]
    wrong += [f"{each} is missing" for each in _expected(case, card) - found]
    if case.verdict is None:
        false = found - {*case.findings, *case.may}
        wrong += [f"{each} is false" for each in sorted(false)]
    return wrong


def main(store: str, names: list[str]) -> int:
    """Run what is named; return 1 if anything is wrong."""
    wrong = {name: problems(RUNS[name], card_of(name, store)) for name in names}
    for name, each in wrong.items():
        print(f"{name}: {'; '.join(each) or 'right'}")
    return int(any(wrong.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
