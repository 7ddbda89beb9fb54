"""A job's history read from a store: bounded, and of use whatever lies there."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest
from click.testing import CliRunner
from dask_blackbox import Run
from dask_blackbox.analyse.changes import changes_on_card
from dask_blackbox.analyse.changes.ranking import VerdictContext
from dask_blackbox.analyse.sketching import facts_of_sketch
from dask_blackbox.cli import blackbox
from dask_blackbox.cli.compare import comparison_text
from dask_blackbox.cli.history import history_text
from dask_blackbox.errors import RunNotFoundError, StoreUnreachableError
from dask_blackbox.job_history import Trend
from dask_blackbox.layout import STOPPED_BY_HOST, RunAddress, sketch_name
from dask_blackbox.manifest import Manifest
from dask_blackbox.reader.comparison import compare_runs
from dask_blackbox.reader.earlier_runs import earlier_runs, put_sketch, sketched_runs
from dask_blackbox.reader.job_histories import job_history
from dask_blackbox.report.wording import coverage_text
from dask_blackbox.sketch import Sketch, packed
from dask_blackbox.store import MemoryStore, open_store
from dask_blackbox.testing import EmbeddedS3, a_task, recorded
from sketches import a_night, failed


def manifest_of(sketch: Sketch) -> Manifest:
    return Manifest(
        recording="x",
        job=sketch.job,
        run_id=sketch.run_id,
        attempt=sketch.attempt,
        started=sketch.started,
    )


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def test_only_runs_that_began_before_are_earlier(store: MemoryStore) -> None:
    for number in (1, 2, 3, 4):
        put_sketch(store, a_night(number))

    history = earlier_runs(store, manifest_of(a_night(3)))
    assert [each.run_id for each in history.sketches] == ["run-2", "run-1"]
    assert history.more is False


def test_attempts_of_a_run_count_once_and_its_own_not_at_all(
    store: MemoryStore,
) -> None:
    put_sketch(store, failed(a_night(1)))
    put_sketch(store, a_night(1, attempt=2, started=a_night(1).started + 60))
    own = a_night(2, attempt=2, started=a_night(2).started + 60)
    put_sketch(store, failed(a_night(2)))

    history = earlier_runs(store, manifest_of(own))
    assert [(each.run_id, each.state) for each in history.sketches] == [
        ("run-1", "succeeded")
    ]


def test_earlier_attempts_of_the_run_itself_are_known_apart(
    store: MemoryStore,
) -> None:
    begun = a_night(2).started
    put_sketch(store, failed(a_night(1), "a" * 12))
    for attempt, kind in ((1, "b"), (2, "a")):
        night = a_night(2, attempt=attempt, started=begun + attempt)
        put_sketch(store, failed(night, kind * 12))
    own = failed(a_night(2, attempt=3, started=begun + 3), "a" * 12)

    history = earlier_runs(store, manifest_of(own))
    assert [each.run_id for each in history.sketches] == ["run-1"]
    reported = changes_on_card(history, own, VerdictContext()).past
    assert [(each.attempt, each.same_failure) for each in reported.attempts] == [
        (1, False),
        (2, True),
    ]
    assert reported.recurrence is not None
    assert reported.recurrence.times == 2


def test_a_lost_run_that_is_uploaded_later_has_one_sketch(store: MemoryStore) -> None:
    lost = msgspec.structs.replace(a_night(1), state="lost", duration=None)
    put_sketch(store, lost)
    put_sketch(store, a_night(1))

    assert [each.state for each in sketched_runs(store, "nightly")] == ["succeeded"]


def test_what_cannot_be_read_is_counted(store: MemoryStore) -> None:
    for number in range(1, 6):
        put_sketch(store, a_night(number))
    names = list(store.names("sketches/"))
    store.put(names[0], b"nonsense")
    newer = msgspec.json.encode(a_night(4)).replace(b'{"', b'{"format":9,"', 1)
    store.put(names[1], gzip.compress(newer))
    store.put("sketches/nightly/what~is~this", b"")

    history = earlier_runs(store, manifest_of(a_night(6)))
    assert history.unreadable == 2
    assert [each.run_id for each in history.sketches] == ["run-3", "run-2", "run-1"]


def test_jobs_whose_safe_names_meet_are_reported_apart(store: MemoryStore) -> None:
    mine = a_night(1, job="shop/eu")
    address = RunAddress.of("shop/eu", "run-9", 1)
    other = a_night(9, job="shop_eu-of-somebody-else")
    put_sketch(store, mine)
    name = sketch_name(address, other.started, other.state, **facts_of_sketch(other))
    store.put(name, packed(other))

    history = earlier_runs(store, manifest_of(a_night(20, job="shop/eu")))
    assert [each.job for each in history.sketches] == ["shop/eu"]


def test_the_last_good_run_is_found_however_long_ago_it_was(store: MemoryStore) -> None:
    put_sketch(store, a_night(0))
    for number in range(1, 300):
        put_sketch(store, failed(a_night(number)))

    history = earlier_runs(store, manifest_of(a_night(300)), most=20)
    assert history.last_good is not None
    assert history.last_good.run_id == "run-0"
    assert (len(history.sketches), len(history.names)) == (21, 300)


def test_a_mapped_instance_is_compared_with_its_like(store: MemoryStore) -> None:
    for day in (1, 2):
        for index in (0, 1, 2):
            run_id = f"scheduled__2026-11-0{day}T02:00:00+00:00.map{index}"
            put_sketch(store, a_night(day, run_id=run_id))

    own = a_night(3, run_id="scheduled__2026-11-03T02:00:00+00:00.map1")
    history = earlier_runs(store, manifest_of(own))
    assert [each.run_id[-5:] for each in history.sketches] == [".map1", ".map1"]


def test_a_mapped_instance_that_failed_says_how_its_siblings_ended(
    store: MemoryStore,
) -> None:
    regions = ["emea", "apac", "mea", "amer", "nord"]
    nights = [
        a_night(
            3,
            run_id=f"scheduled__2026-11-03T02:00:00+00:00.map{index}",
            started=1e9 + (9 if index == 4 else index),
            facts={"parameters": {"region": region}},
        )
        for index, region in enumerate(regions)
    ]
    own = failed(nights.pop(2))
    other_day = a_night(2, run_id="scheduled__2026-11-02T02:00:00+00:00.map1")
    for each in (*nights, other_day):
        put_sketch(store, each)

    history = earlier_runs(store, manifest_of(own))
    past = changes_on_card(history, own, VerdictContext()).past

    assert past.siblings == (
        "4 of 5 instances of this task succeeded so far; only this one has region=mea"
    )
    good = changes_on_card(history, nights[0], VerdictContext()).past
    assert good.siblings == ""
    alone = earlier_runs(store, manifest_of(a_night(3)))
    assert (
        changes_on_card(alone, failed(a_night(3)), VerdictContext()).past.siblings == ""
    )


@pytest.mark.parametrize(
    ("parameters", "compared"),
    [
        pytest.param({"region": "mea"}, ".map1", id="the same piece"),
        pytest.param({"region": "nord"}, ".map2", id="a new piece: by its index"),
        pytest.param({}, ".map2", id="nothing tells them apart"),
        pytest.param(
            {"region": "mea", "day": "2026-11-03"}, ".map1", id="beside its date"
        ),
    ],
)
def test_a_mapped_instance_is_compared_with_the_one_that_was_given_the_same(
    store: MemoryStore, parameters: dict[str, str], compared: str
) -> None:
    for index, region in enumerate(("emea", "mea", "apac")):
        given = {"region": region, "day": "2026-11-02"} if parameters else {}
        night = a_night(
            2,
            run_id=f"scheduled__2026-11-02T02:00:00+00:00.map{index}",
            facts={"parameters": given},
        )
        put_sketch(store, night)
    own = a_night(
        3,
        run_id="scheduled__2026-11-03T02:00:00+00:00.map2",
        facts={"parameters": parameters},
    )
    history = earlier_runs(store, manifest_of(own))

    past = changes_on_card(history, failed(own), VerdictContext()).past
    assert past.last_good is not None
    assert past.last_good.run_id.endswith(compared)


class HangingStore(MemoryStore):
    """A store that answers when it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go = threading.Event()

    def get(self, name: str) -> bytes:
        self.let_go.wait(60)
        return super().get(name)


def test_a_store_that_hangs_delays_nothing() -> None:
    store = HangingStore()
    for number in range(5):
        put_sketch(store, a_night(number))
    begun = time.monotonic()
    history = earlier_runs(store, manifest_of(a_night(9)), timeout=0.5)
    took = time.monotonic() - begun
    store.let_go.set()

    assert took < 30  # not the minute that the store would have taken
    assert (len(history.names), history.sketches, history.more) == (5, (), True)


class DeniedStore(MemoryStore):
    """A store that lists nothing."""

    def names(
        self, prefix: str = "", *, after: str = "", limit: int | None = None
    ) -> Iterator[str]:
        raise StoreUnreachableError("nothing answers")


def test_a_store_that_fails_gives_no_history_and_no_error() -> None:
    history = earlier_runs(DeniedStore(), manifest_of(a_night(9)))

    assert (history.names, history.more) == ((), True)


def test_a_lost_run_is_sketched_when_it_is_opened() -> None:
    store = MemoryStore()
    address = recorded(store, a_task(), job="nightly", run_id="gone", state=None)
    card = Run.at(store, address).card()

    assert card.state == "lost"
    assert [each.state for each in sketched_runs(store, "nightly")] == ["lost"]


def test_history_and_comparison_outlive_the_recordings(store: MemoryStore) -> None:
    put_sketch(store, a_night(1))
    put_sketch(store, failed(a_night(2, facts={"parameters": {"limit": "500"}})))

    reported = compare_runs(store, "nightly/run-1", "nightly/run-2/1")
    assert [(each.what, each.after) for each in reported.changes] == [("limit", "500")]
    assert [pair.name for pair in reported.prefixes] == ["join", "load"]
    with pytest.raises(RunNotFoundError):
        compare_runs(store, "nightly/run-1", "nightly/run-7")


def test_a_failure_that_has_stopped_reports_with_what(store: MemoryStore) -> None:
    for number in range(1, 4):
        put_sketch(store, failed(a_night(number)))
    facts = {
        f"package/{r}": {"dask": "2026.3.0"} for r in ("driver", "scheduler", "workers")
    }
    for number in range(4, 9):
        put_sketch(store, a_night(number, facts=facts))

    reported = job_history(store, "nightly", limit=3)
    assert [each.state for each in reported.runs] == ["succeeded"] * 3
    assert (reported.total, reported.states) == (8, {"succeeded": 5, "failed": 3})
    group = reported.groups[0]
    assert (group.times, group.since, group.stopped) == (
        3,
        5,
        "dask 2026.1.0 → 2026.3.0",
    )


def test_what_a_host_has_stopped_is_no_failure_of_the_job(store: MemoryStore) -> None:
    out_of_time = {"verdict": STOPPED_BY_HOST, "state": "failed"}
    put_sketch(store, a_night(1))
    put_sketch(store, failed(a_night(2)))
    put_sketch(store, a_night(3, **out_of_time))
    # Earlier versions took reaching a time limit for a kind of failure.
    put_sketch(
        store, a_night(4, **out_of_time, fingerprint=failed(a_night()).fingerprint)
    )
    last = failed(a_night(5))
    put_sketch(store, last)

    reported = job_history(store, "nightly")
    assert reported.states == {"failed": 2, "stopped": 2, "succeeded": 1}
    [group] = reported.groups
    assert (group.times, group.since) == (2, 0)
    assert [each.group for each in reported.runs] == ["A", None, None, "A", None]
    history = earlier_runs(store, manifest_of(last))
    past = changes_on_card(history, last, VerdictContext()).past
    assert past.recurrence is not None
    assert past.recurrence.in_a_row == 2
    assert coverage_text(past) == (
        "all 4 earlier runs looked at; 1 of them succeeded, 2 were stopped"
    )


def test_a_history_in_s3_reads_no_more_than_its_limit(s3: EmbeddedS3) -> None:
    store = open_store(s3.url, settings=s3.settings)
    with ThreadPoolExecutor(8) as putting:
        for _ in putting.map(
            lambda number: put_sketch(store, a_night(number, job="in-s3")), range(60)
        ):
            pass

    history = earlier_runs(
        store, manifest_of(a_night(60, job="in-s3")), most=20, timeout=60
    )
    assert [each.run_id for each in history.sketches[:2]] == ["run-59", "run-58"]
    assert (len(history.sketches), len(history.names)) == (20, 60)
    reported = job_history(store, "in-s3", limit=10)
    assert (reported.total, len(reported.runs), len(reported.trends)) == (60, 10, 3)


def test_the_newest_of_many_runs_are_reported_and_that_there_are_more(
    store: MemoryStore,
) -> None:
    for number in range(620):
        night = a_night(number)
        address = RunAddress.of(night.job, night.run_id, 1)
        store.put(sketch_name(address, night.started, "succeeded"), b"")

    reported = job_history(store, "nightly", timeout=0)
    assert (reported.total, reported.more) == (500, True)
    assert reported.runs[0].run == "nightly/run-619/1"
    assert "the newest 500 runs: 500 succeeded" in history_text(reported)
    assert "--all reads all" in history_text(reported)
    everything = job_history(store, "nightly", timeout=None)
    assert (everything.total, everything.more) == (620, False)


@pytest.mark.parametrize("width", [40, 80, 100, 240])
def test_a_run_can_be_named_to_other_verbs_in_any_terminal(
    store: MemoryStore, width: int
) -> None:
    name = "scheduled__2026-11-21T02_00_00.123456_00_00-2112940c"
    put_sketch(store, failed(a_night(1, run_id=name, verdict="worker-memory-limit")))

    printed = history_text(job_history(store, "nightly"), width=width)
    together = "".join(line.split("  ")[-1].strip() for line in printed.splitlines())
    assert f"{name}/1" in together.replace(" ", "")
    for column in ("failed", "2026-", "10 m 00 s", "10.0 GiB", "4.00 GiB"):
        assert column in printed


def test_both_verbs_print_for_people_and_for_programs(shelf_url: str) -> None:
    store = open_store(shelf_url)
    put_sketch(store, a_night(1))
    put_sketch(store, failed(a_night(2, facts={"code": {"git commit": "d"}})))

    def reported(*words: str) -> str:
        done = CliRunner().invoke(blackbox, [*words, "--store", shelf_url])
        assert done.exit_code == 0, done.output
        return done.output

    printed = reported("compare", "nightly/run-1", "nightly/run-2")
    assert "Code: only the code changed: git commit c0ffee → d" in printed
    assert "code git commit: c0ffee → d" in printed
    listed = reported("history", "nightly")
    assert "2 runs: 1 failed, 1 succeeded" in listed
    assert "task-exception" in listed
    as_json = json.loads(
        reported("compare", "nightly/run-1", "nightly/run-2", "--json")
    )
    assert as_json["changes"][0]["what"] == "git commit"
    assert json.loads(reported("history", "nigh", "--json"))["job"] == "nightly"


def test_a_job_without_runs_is_reported_to_have_none(shelf_url: str) -> None:
    done = CliRunner().invoke(blackbox, ["history", "weekly", "--store", shelf_url])

    assert done.exit_code == 1
    assert "no job 'weekly'" in done.output


@pytest.fixture
def shelf_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("store"))


def durations_of(store: MemoryStore, values: Sequence[float]) -> Trend:
    """Return the trend of the durations of nights, the newest of which is last."""
    for number, value in enumerate(values, start=1):
        put_sketch(store, a_night(number, duration=value))
    trends = job_history(store, "nightly").trends
    return next(each for each in trends if each.name == "duration")


_NOISE = [100.0, 104.0, 97.0, 101.0, 99.0, 110.0, 95.0, 103.0, 98.0, 102.0]


@pytest.mark.parametrize(
    ("values", "runs"),
    [
        pytest.param(
            [*_NOISE * 5, *[1.6 * each for each in _NOISE]], 10, id="ten slow"
        ),
        pytest.param(
            [*_NOISE, *[0.5 * each for each in _NOISE[:4]]], 4, id="four fast"
        ),
        pytest.param(_NOISE * 4, None, id="as ever"),
        pytest.param([*_NOISE * 2, 180.0], None, id="one slow night"),
        pytest.param([*_NOISE[:3], 160.0, 161.0], None, id="too few"),
        pytest.param([80.0, 160.0] * 12, None, id="two kinds of nights"),
    ],
)
def test_a_job_that_stays_on_another_level_is_said_to(
    store: MemoryStore, values: list[float], runs: int | None
) -> None:
    trend = durations_of(store, values)

    assert (trend.change and trend.change.runs) == runs
    shown = history_text(job_history(store, "nightly", limit=3), width=200)
    assert ("times as much since" in shown) == (runs is not None)
    if runs == 10:
        assert trend.change is not None
        assert trend.change.now / trend.change.before == pytest.approx(1.6, rel=0.02)
        assert "1.6 times as much since 2026-" in shown
        assert "for 10 good runs; before, 1 m 40 s" in shown


def test_a_comparison_says_what_it_cannot_show(store: MemoryStore) -> None:
    put_sketch(store, a_night(1))
    put_sketch(store, a_night(2))
    put_sketch(store, a_night(3, job="hourly"))

    same = compare_runs(store, "nightly/run-1", "nightly/run-1")
    others = compare_runs(store, "nightly/run-1", "hourly/run-3")
    plain = compare_runs(store, "nightly/run-1", "nightly/run-2")

    assert "the same run" in comparison_text(same)
    assert "No difference" not in comparison_text(same)
    assert "runs of different jobs" in comparison_text(others)
    assert others.past is None  # which would say what changed since
    assert plain.note == ""
    assert plain.nothing == "No difference was recorded."
    partly = msgspec.structs.replace(plain, changes=(), unknown=("code",))
    assert "No difference in what could be compared" in comparison_text(partly)
    assert "No difference was recorded" not in comparison_text(partly)
