"""Slower than usual, more memory than usual, and where the memory is going."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import msgspec
import pytest
from dask_blackbox.analyse import History, findings_in
from dask_blackbox.analyse.rules.history import (
    forecast_of,
    more_memory,
    slower,
    slower_since,
    usual_of,
)
from dask_blackbox.finding import Finding
from dask_blackbox.formatting import utc
from dask_blackbox.sketch import Inputs, Sketch
from runs_from_rows import MIB, a_run, a_sample, a_task, a_worker, an_event, succeeded
from sketches import GIB, a_night, a_prefix, history_of

ROOT = Path(__file__).parents[2]


def nights(number: int, *, noise: float = 0.02, growth: float = 0.0) -> list[Sketch]:
    """Return good nights, the newest first, a bit more and a bit less than usual."""
    found = []
    for n in range(number):
        wave = 1 + noise * ((n * 7) % 5 - 2)
        grown = (1 + growth) ** n
        found.append(
            a_night(
                n,
                duration=600 * wave * grown,
                inputs=Inputs(partitions=100, nbytes=round(10 * GIB * grown)),
                numbers={
                    "peak_memory": 4 * GIB * wave * grown,
                    "memory_limit": 8 * GIB,
                },
            )
        )
    return found[::-1]


def a_last(*, times: float, number: int = 60, **fields: object) -> Sketch:
    night = a_night(
        number, numbers={"peak_memory": 4 * GIB * times, "memory_limit": 8 * GIB}
    )
    return msgspec.structs.replace(night, duration=600 * times, **fields)


def test_twice_as_long_is_slower_than_usual() -> None:
    found = slower(nights(60), a_last(times=2.0))

    assert [part.prefix for part in found] == [None]
    assert found[0].unusual.factor == pytest.approx(2, rel=0.05)


def _busy(number: int, seconds: float, cpu: float | None) -> Sketch:
    """Return a night on a host that others keep busy, now and then."""
    reported = (seconds,) * 6
    join = a_prefix("join", seconds=reported, compute=100 * seconds, cpu=cpu)
    return a_night(number, duration=600 * seconds, prefixes=(join,))


@pytest.mark.parametrize(
    ("seconds", "cpu", "found"),
    [(6.0, 500.0, ["join"]), (6.0, 105.0, []), (6.0, None, []), (1.1, 103.0, [])],
)
def test_on_a_busy_host_the_time_with_a_core_reports_a_slow_task_from_a_slow_night(
    seconds: float, cpu: float | None, found: list[str]
) -> None:
    earlier = [
        _busy(n, wall, 100.0 + n) for n, wall in enumerate((1, 3, 1.2, 2.6, 1, 3.2, 5))
    ][::-1]

    reported = slower(earlier, _busy(8, seconds, cpu))

    assert [part.prefix for part in reported] == found
    assert all(part.cpu for part in reported)


def test_a_night_like_the_others_is_not() -> None:
    assert slower(nights(60), a_last(times=1.05)) == []


def test_twice_as_long_for_twice_the_input_is_not() -> None:
    last = a_last(times=2.0, inputs=Inputs(partitions=100, nbytes=20 * GIB))

    assert slower(nights(60, growth=0.003), last) == []


def test_twice_as_long_for_the_same_input_is_though_the_input_grows() -> None:
    history = nights(60, growth=0.01)
    size = history[0].inputs
    last = a_last(times=2 * 1.01**60, inputs=size)

    assert [part.prefix for part in slower(history, last)] == [None]


def opening(nights: list[Sketch], nbytes: int | None) -> list[Sketch]:
    """Return nights whose tasks return little of the files that they open."""
    return [
        msgspec.structs.replace(
            each,
            inputs=Inputs(
                partitions=100,
                nbytes=3_000,
                files=100 if nbytes else None,
                read=nbytes and round(nbytes * (each.duration or 0) / 600),
            ),
        )
        for each in nights
    ]


def test_twice_as_long_for_files_twice_as_large_is_not() -> None:
    history = opening(nights(60, growth=0.003), 10 * GIB)
    [last] = opening([a_last(times=2.0)], 10 * GIB)
    [same] = opening([a_last(times=2.0)], 5 * GIB)

    assert slower(history, last) == []
    assert [part.prefix for part in slower(history, same)] == [None]


def test_runs_of_a_version_that_did_not_record_files_are_compared_without_them() -> (
    None
):
    [last] = opening([a_last(times=2.0)], 10 * GIB)

    assert [part.prefix for part in slower(opening(nights(60), None), last)] == [None]


def test_three_runs_are_no_history() -> None:
    assert slower(nights(3), a_last(times=5.0)) == []


def test_without_the_input_it_takes_a_week_to_know() -> None:
    silent = [msgspec.structs.replace(each, inputs=Inputs()) for each in nights(9)]
    last = a_last(times=4.0, inputs=Inputs())

    assert slower(silent[:7], last) == []
    assert [part.prefix for part in slower(silent, last)] == [None]


def test_the_tasks_that_became_slower_are_named() -> None:
    slow = a_prefix("join", seconds=(2.0, 3.2, 4.0, 4.8, 6.4, 8.8), compute=400.0)
    last = a_last(times=2.0, prefixes=(slow, a_prefix("load", roots=100)))

    assert [part.prefix for part in slower(nights(60), last)] == [None, "join"]


def test_one_old_outlier_hides_nothing() -> None:
    history = nights(60)
    history[30] = msgspec.structs.replace(history[30], duration=900.0)

    assert slower(history, a_last(times=2.0)) != []


def test_twice_the_memory_is_more_than_usual() -> None:
    found = more_memory(nights(60), a_last(times=1.9))

    assert found[0].unusual.factor == pytest.approx(1.9, rel=0.05)


def test_the_slope_follows_the_input() -> None:
    sizes = [10.0 + n for n in range(30)]
    usual = usual_of([60 * size for size in sizes], [*sizes])

    assert usual is not None
    assert usual.slope == pytest.approx(1.0, abs=0.01)
    assert usual.expected(20.0) == pytest.approx(1200, rel=0.01)


def test_growing_memory_meets_its_limit_on_a_day() -> None:
    history = nights(40, noise=0.005, growth=0.015)
    reported = forecast_of(history[1:], history[0])

    assert reported is not None
    assert reported.growth == pytest.approx(0.015, rel=0.1)
    # 4 GiB after 39 nights of 1.5 % more are 7.1 GiB; 95 % of 8 GiB is 7.6 GiB.
    assert reported.runs_left == 5
    assert reported.days_left == pytest.approx(5)
    assert reported.needed == pytest.approx(7.1 * GIB * 1.015**30 / 0.8, rel=0.05)


def test_memory_that_only_wavers_has_no_forecast() -> None:
    history = nights(60, noise=0.1)
    reported = forecast_of(history[1:], history[0])

    assert reported is not None
    assert (reported.growth, reported.runs_left, reported.near) == (0.0, None, 0)


def a_run_now(
    *, seconds: float, memory: int, others: float = 0.0
) -> tuple[Finding, ...]:
    """Return what is found in a run of a job whose nights take a minute and 100 MiB."""
    numbers = {"peak_memory": 100.0 * MIB, "memory_limit": 400.0 * MIB}
    history = history_of(
        a_night(n, duration=60.0 + n % 3, inputs=Inputs(), prefixes=(), numbers=numbers)
        for n in range(30)
    )
    run = a_run(
        [a_worker("tcp://w1", at=0.5)],
        [a_task("inc-1", start=1.0)],
        [a_sample("tcp://w1", at=2.0, memory=memory)],
        [
            an_event(
                "process-load",
                "tcp://w1",
                at=12.0,
                seconds=10.0,
                cpu=1.0,
                cores=1,
                host_busy=1.0 + 10 * others,
            )
        ],
        [succeeded(at=seconds)],
    )
    return findings_in(run, history=history)


def test_rules_report_it_with_numbers() -> None:
    found = {f.rule: f for f in a_run_now(seconds=200.0, memory=350 * MIB)}

    slow = found["slower-than-usual"]
    assert slow.title == "The run took 3.3 times as long as usual"
    assert slow.severity == "warning"
    assert "After 30 good runs" in slow.cause
    large = found["more-memory-than-usual"]
    assert large.title == "A worker used 3.5 times as much memory as usual"
    assert "500 MiB" in large.remedy


@pytest.mark.parametrize(
    ("earlier", "seconds", "inputs", "said"),
    [
        pytest.param([60] * 20 + [96] * 9, 96, 1, 10, id="the tenth slow night"),
        pytest.param([60] * 20 + [80] * 4, 80, 1, 5, id="a third more"),
        pytest.param([60] * 20 + [96] * 9, 61, 1, None, id="as before again"),
        pytest.param([60] * 20 + [96] * 9, 96, 1.6, None, id="with more input"),
        pytest.param([60] * 6 + [96] * 9, 96, 1, None, id="it is what is usual"),
        pytest.param([60, 70, 80, 90, 100] * 6, 100, 1, None, id="they differ"),
    ],
)
def test_a_job_that_is_slower_for_nights_is_said_to_be_since_the_first_of_them(
    earlier: list[int], seconds: float, inputs: float, said: int | None
) -> None:
    def night(number: int, took: float) -> Sketch:
        more = inputs if took > min(earlier) else 1
        read = Inputs(partitions=100, nbytes=round(10 * GIB * more))
        return a_night(number, duration=took + number % 3 / 2, inputs=read)

    history = history_of(night(n, took) for n, took in enumerate(earlier))
    change, parts = slower_since(history, night(len(earlier), seconds))

    assert (change and change.runs) == said
    assert bool(parts) == (said is not None)


def test_the_finding_says_since_when_and_which_two_runs_to_compare() -> None:
    history = history_of(
        a_night(n, duration=took, inputs=Inputs(), prefixes=())
        for n, took in enumerate([60.0] * 20 + [96.0] * 9)
    )
    run = a_run(
        [a_worker("tcp://w1", at=0.5)],
        [a_task("inc-1", start=1.0)],
        [succeeded(at=96)],
    )
    found = {f.rule: f for f in findings_in(run, history=history)}
    slow = found["slower-than-usual"]

    day = f"{utc(history.names[8].started_ms / 1000):%Y-%m-%d}"
    levels = f"Slower since {day}: for 10 good runs, 1.6 times as long as before"
    assert slow.title == levels
    assert f"After 20 good runs before {day}, 1 m 00 s was expected" in slow.cause
    assert "run-19/1 nightly/run-20/1" in (slow.evidence[0].see or "")


def test_a_night_on_which_others_had_the_host_is_not_slow_by_itself() -> None:
    rules = {f.rule for f in a_run_now(seconds=200.0, memory=101 * MIB, others=0.8)}

    assert "slower-than-usual" not in rules


def test_rules_are_silent_on_a_usual_run() -> None:
    rules = {f.rule for f in a_run_now(seconds=62.0, memory=101 * MIB)}

    assert not rules & {
        "slower-than-usual",
        "more-memory-than-usual",
        "memory-forecast",
    }


@pytest.mark.parametrize(("least", "fires"), [(200, True), (0, False)])
def test_a_run_without_a_task_is_reported_of_a_job_that_always_had_some(
    least: int, *, fires: bool
) -> None:
    nights = [a_night(n, facts={}) for n in range(3)]
    nights += [a_night(3, prefixes=(a_prefix(planned=least),))]
    history = history_of(msgspec.structs.replace(each, facts={}) for each in nights)
    idle = a_run([a_worker("tcp://w1", at=0.5)], [succeeded(at=9.0)])

    rules = {f.rule for f in findings_in(idle, history=history)}

    assert ("silent-empty-input" in rules) is fires


def test_runs_near_the_limit_are_counted() -> None:
    numbers = {"peak_memory": 370.0 * MIB, "memory_limit": 400.0 * MIB}
    history = history_of(
        a_night(n, inputs=Inputs(), prefixes=(), numbers=numbers) for n in range(8)
    )
    run = a_run(
        [a_worker("tcp://w1", at=0.5, memory_limit=400 * MIB)],
        [a_task("inc-1", start=1.0)],
        [a_sample("tcp://w1", at=2.0, memory=372 * MIB)],
        [succeeded(at=9.0)],
    )
    found = {f.rule: f for f in findings_in(run, history=history)}

    assert found["memory-forecast"].title == (
        "Within 5 % of the memory limit for 9 runs"
    )


def test_without_a_history_nothing_is_unusual() -> None:
    run = a_run([a_worker()], [a_task()], [succeeded(at=9000.0)])
    rules = {f.rule for f in findings_in(run, history=History())}

    assert "slower-than-usual" not in rules


@pytest.fixture(scope="module")
def false_alarms() -> ModuleType:
    """Return the command that counts false alarms."""
    path = ROOT / "benchmarks" / "false_alarms.py"
    spec = importlib.util.spec_from_file_location("false_alarms", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules["false_alarms"] = module  # where its dataclass looks for itself
    spec.loader.exec_module(module)
    return module


def test_healthy_runs_are_hardly_ever_accused(false_alarms: ModuleType) -> None:
    reported = false_alarms.rates(120, 7)

    assert reported.either <= 0.025  # three of a hundred and twenty
    assert reported.found["21-60", 3.0][1] > 0.7
