"""The artifact that a card becomes."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any
from uuid import UUID, uuid4

import pytest
from dask_blackbox import RunCard
from dask_blackbox.card_data import Overview, TaskCost
from dask_blackbox.events import ProcessingTask, RestrictedTask, Stall
from dask_blackbox.finding import CurrentState, Evidence, Finding, Subject
from dask_blackbox.protocol.messages import Progress
from msgspec import structs
from msgspec.structs import replace
from prefect.client.schemas.objects import Artifact
from prefect.settings import PREFECT_API_URL, PREFECT_UI_URL, temporary_settings
from prefect_dask_blackbox import live_artifacts
from prefect_dask_blackbox.artifacts import FlowRunPage, slug
from prefect_dask_blackbox.identity import for_reader, page_of
from prefect_dask_blackbox.job_page import job_table
from prefect_dask_blackbox.live_artifacts import (
    Live,
    Waiting,
    until_next,
    without_usual_stall,
)
from prefect_dask_blackbox.lost_tasks import LostTasks
from prefect_dask_blackbox.page import (
    Ended,
    TaskLine,
    attempt_line,
    card_page,
    ended_text,
    live_line,
    live_page,
)
from prefect_dask_blackbox.run_assets import AssetState, RunAsset, note_of
from prefect_dask_blackbox.stalls import later, stall_kind, stall_text
from prefect_dask_blackbox.submitted_tasks import Ledger


def updates(seconds: float) -> Iterator[float]:
    """Yield when the card of a run of that length is updated, if it looks every 5 s."""
    now, due = 0.0, 0.0
    while now < seconds:
        now += 5.0
        if now >= due:
            due = now + until_next(now)
            yield now


WHO = "scheduler, nannies and dead workers"

CARD = RunCard(
    job="etl",
    run_id="r1",
    attempt=2,
    state="succeeded",
    headline="Succeeded in 3 s",
    links={
        "report": "https://s3.example/report.html?X-Amz-Signature=abc",
        "performance_report": "s3://bucket/performance_report.html",
        "recording": "s3://bucket/runs/r1/",
    },
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("etl", "etl"),
        ("Nightly ETL (v2)", "nightly-etl-v2"),
        ("日本", "cf2abf0c"),
        ("größe", "gr-e-d353a267"),
    ],
)
def test_a_flows_name_becomes_part_of_a_key(name: str, expected: str) -> None:
    assert slug(name) == expected


def test_links_stand_at_the_top_and_only_what_a_browser_opens_is_one() -> None:
    page = card_page(CARD, attempts=(2, 3), logs=4)

    assert page.splitlines()[:5] == [
        "## ✔ Succeeded in 3 s",
        "",
        f"[Report](<{CARD.links['report']}>)",
        "",
        "Attempt 2 of 3 of this flow run.",
    ]
    not_retried = "as its retry advice says (code, high)"
    page = card_page(CARD, attempts=(1, 3), logs=4, not_retried=not_retried)
    assert (
        "Attempt 1 of 3 of this flow run. No retry follows, as its retry advice says "
        "(code, high)." in page.replace("\\", "")
    )
    assert f"In the log of this flow run: 4 lines of Dask's {WHO}." in page
    assert page.endswith("\n\nRecording: `s3://bucket/runs/r1/`\n")


def test_a_report_in_a_folder_has_its_path_on_the_card() -> None:
    folder = "/store/runs/job=etl/run=r1/attempt=2/"
    links = {"recording": folder, "report": f"file://{folder}report.html"}

    page = card_page(replace(CARD, links=links))

    assert f"Report: `file://{folder}report.html`, in a browser on a machine" in page
    assert "](<file:" not in page


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "<../../runs/task-run/1>"),
        (
            {PREFECT_API_URL: "http://gateway.internal/prefect/api"},
            "<../../runs/task-run/1>",
        ),
        (
            {PREFECT_UI_URL: "https://prefect.example"},
            "<https://prefect.example/runs/task-run/1>",
        ),
        (
            {PREFECT_API_URL: "https://api.prefect.cloud/api/accounts/a/workspaces/w"},
            "<https://app.prefect.cloud/account/a/workspace/w/runs/task-run/1>",
        ),
    ],
    ids=["inferred", "below a path", "given", "cloud"],
)
def test_links_to_pages_of_prefect_open_for_the_reader(
    given: dict[Any, str], expected: str
) -> None:
    api = {PREFECT_API_URL: "http://api.internal:4200/api"}
    identity = UUID(int=1)
    expected = expected.replace("/1>", f"/{identity}>")
    with temporary_settings({**api, **given}):
        link = f"[load-1](<{page_of('task-run', identity)}>)"

        assert for_reader(link) == f"[load-1]({expected})"


def test_a_server_that_does_not_answer_is_one_line(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    swallowed: Any,
) -> None:
    looked = threading.Semaphore(0)

    def card() -> RunCard:
        looked.release()
        return CARD

    flow_run_id, ledger = uuid4(), Ledger()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens there
        closed = f"http://127.0.0.1:{taken.getsockname()[1]}/api"
        monkeypatch.setattr(live_artifacts, "_INTERVAL", 0.01)
        with temporary_settings({PREFECT_API_URL: closed}):
            live = Live(
                flow_run_id,
                page=FlowRunPage(flow_run_id, "etl"),
                ledger=ledger,
                lost_tasks=LostTasks(flow_run_id, ledger),
                card=card,
                dashboard=lambda: None,
                read_names=lambda _: None,
                begun=lambda: None,
                state=lambda: None,
            )
            live.update(Progress(at=0.0, finished=1))
            live.start()
            for _ in range(9):  # of which each look takes two
                looked.acquire()
            live.finish()

    lines = [each.message for each in caplog.records if each.name == "dask_blackbox"]
    assert len(lines) == 1 < len(swallowed)
    assert "without showing the progress of the flow run: ConnectError: " in lines[0]


def test_the_page_of_a_job_has_a_row_for_each_of_its_runs() -> None:
    began: Any = datetime(2026, 11, 29, 3, 0, tzinfo=UTC)
    facts = {"attempt": "2", "state": "failed", "seconds": "90", "cause": "disk-full"}
    facts |= {"peak_memory": str(2**30), "task_failures": "3"}
    ended = Artifact(
        id=uuid4(), created=began, key="dask-run-etl", metadata_=facts, flow_run_id=uuid4()
    )  # fmt: skip
    # One that was shown by an earlier version has no numbers.
    older = Artifact(key="dask-run-etl", metadata_={"state": "succeeded"})

    with temporary_settings({PREFECT_API_URL: "http://api.internal:4200/api"}):
        head, _, *rows = job_table([ended, older]).splitlines()

    assert head.startswith("| Began (UTC) | Attempt | State | Took |")
    assert f"/artifacts/artifact/{ended.id}>)" in rows[0]
    assert rows[0].startswith("| [2026-11-29 03:00](<")
    cells = " | 2 | failed | 1 m 30 s | 1 GiB | 3 | disk-full |"
    assert rows[0].endswith(cells)
    assert rows[1:] == ["| unknown |  | succeeded |  |  |  |  |"]


def test_the_page_of_a_job_names_the_assets_and_who_materialized_them_last() -> None:
    def card(day: int, *assets: RunAsset) -> Artifact:
        began: Any = datetime(2026, 11, day, 3, 0, tzinfo=UTC)
        facts = {"state": "succeeded", "assets": note_of(list(assets))}
        return Artifact(created=began, key="dask-run-etl", metadata_=facts)

    def asset(key: str, state: AssetState) -> RunAsset:
        url = "https://shop.example/a|b" if key == "s3://a|b" else ""
        return RunAsset(key, url, state)

    made, cached, missed = (
        AssetState(name) for name in ("materialized", "cached", "missed")
    )
    runs = [
        card(5, asset("s3://a|b", missed), asset("s3://c", cached), asset("s3://d", missed)),
        Artifact(key="dask-run-etl", metadata_={"state": "running"}),
        card(4, asset("s3://a|b", missed), asset("s3://c", made)),
        card(3, asset("s3://a|b", made), asset("s3://c", made)),
        Artifact(key="dask-run-etl", metadata_={"assets": "no JSON"}),
    ]  # fmt: skip

    page = job_table(runs)

    assert page.partition("\n\n")[2].splitlines() == [
        "| Asset | Last materialized (UTC) | Failed since |",
        "| --- | --- | --: |",
        "| `s3://a\\|b` ([open](<https://shop.example/a\\|b>)) | 2026-11-03 03:00 | 2 runs |",
        "| `s3://c` | 2026-11-04 03:00 |  |",
        "| `s3://d` | in none of these runs | 1 run |",
    ]


def test_running_tasks_are_no_stall_until_they_take_long() -> None:
    running = (ProcessingTask(key="a-1", executing_for=60.0),)
    progress = Progress(
        at=0.0, finished=0, failed=0, rate=0.0, workers=1, memory=0.0,
        stall=Stall(lasted=60.0, workers=1, processing=running),
    )  # fmt: skip
    waiting = replace(progress, stall=Stall(lasted=60.0, workers=0))

    assert without_usual_stall(progress, 300.0, None).stall is None
    assert without_usual_stall(progress, 60.0, None).stall == progress.stall
    assert without_usual_stall(waiting, 300.0, None).stall == waiting.stall
    # Earlier runs say for how long it usually runs.
    for until, stall in ((60.0, None), (-1.0, progress.stall)):
        usual = CurrentState(text="load runs", usual_until=time.time() + until)
        assert without_usual_stall(progress, 60.0, usual).stall == stall
        assert without_usual_stall(waiting, 60.0, usual).stall == waiting.stall


def test_task_runs_that_were_hit_are_linked_with_their_parameters() -> None:
    lost = TaskLine(
        name="inflate-9|x",
        url="https://prefect.example/runs/task-run/1",
        state="lost",
        parameters="n=9, text='`|<b>'",
        why="Worker <1> ran *out* of memory",
    )

    page = card_page(CARD, [lost])

    assert page.count("### Affected task runs") == 1
    assert (
        "- inflate-9\\|x ([open](<https://prefect.example/runs/task-run/1>)) lost: "
        "Worker \\<1\\> ran \\*out\\* of memory · `n=9, text=''|<b>'`"
    ) in page


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("load_day-9", "[load_day-9](<URL>)"),
        ("load[9]", "[load\\[9\\]](<URL>)"),
        ("a*b*", "a\\*b\\* ([open](<URL>))"),
        ("#1", "\\#1 ([open](<URL>))"),
        ("a\\[b", "a\\\\\\[b ([open](<URL>))"),
        ("www.example.org", "`www.example.org` ([open](<URL>))"),
    ],
)
def test_the_text_of_a_link_needs_no_escapes_that_prefects_first_ui_shows(
    name: str, shown: str
) -> None:
    url = "https://prefect.example/runs/task-run/1"

    page = card_page(CARD, [TaskLine(name=name, url=url, state="lost", why="died")])

    assert f"- {shown.replace('URL', url)} lost: died" in page.splitlines()


def test_assets_that_were_not_materialized_are_listed_with_their_addresses() -> None:
    lost = TaskLine(
        name="revenue",
        state="lost",
        why="died",
        assets={"s3://shop/revenue.parquet": "", "bq://a`b": "https://bq.example/a"},
    )

    page = card_page(CARD, [lost])

    assert (
        "- revenue lost: died · assets not materialized: `s3://shop/revenue.parquet`, "
        "``bq://a`b`` ([open](<https://bq.example/a>))"
    ) in page.splitlines()


def test_names_and_parameters_hold_nothing_that_a_page_obeys() -> None:
    line = TaskLine(
        name="a\u202eb\x1b[31mc", state="lost", parameters="n=\x00", why="d\u2066ied"
    )

    page = card_page(CARD, [line])

    assert "- a\ufffdbc lost: d\ufffdied · `n=\ufffd`" in page.splitlines()


WORST = (
    "](javascript:alert(1)) **b** <img src=x> |\n# H\x1b[31m\u202e ~~s~~ "
    "https://evil.example/x\n```\n"
)
KEY = f"load-{'0' * 32}"


def test_a_name_of_a_task_run_is_no_markup_wherever_it_stands() -> None:
    verdict = Finding(
        rule="task-exception",
        title=f"{KEY} failed",
        severity="failure",
        cause=f"{KEY} raised",
        remedy=f"Look at {KEY}",
        confidence="high",
        retry_advice="code",
        subject=Subject(key=KEY),
        evidence=(Evidence(text=f"{KEY} raised", source="errors"),),
    )
    card = structs.replace(
        CARD, state="failed", headline=f"{KEY} failed", verdict=verdict
    )
    line = TaskLine(name=WORST, state="lost", why=f"it waited for {KEY}")

    page = card_page(card, [line], names={KEY: WORST})

    name = "\\](javascript:alert(1)) \\*\\*b\\*\\* \\<img src=x\\> \\| # H\ufffd \\~\\~s\\~\\~ https…"
    lines = page.splitlines()
    assert lines[0] == f"## ✖ {name} failed"
    assert f"- **About** task {name}" in lines
    assert f"- {name} lost: it waited for {name}" in lines
    assert KEY not in page
    assert f"- {name} raised" in lines


def test_the_line_below_a_cards_title_has_no_markup_but_code(prefect: Any) -> None:
    run = uuid4()
    card = structs.replace(CARD, headline="`load` raised **b** <img src=x>")

    FlowRunPage(run, "etl").show(card)

    (page,) = prefect.descriptions(run)
    assert page == "`load` raised \\*\\*b\\*\\* \\<img src=x\\>"


def test_a_long_name_is_cut_and_one_line_is_one() -> None:
    page = card_page(CARD, [TaskLine(name="z" * 300, state="lost", why="died")], logs=1)

    assert f"- {'z' * 59}… lost: died" in page.splitlines()
    assert f"In the log of this flow run: 1 line of Dask's {WHO}." in page


def test_an_underscore_within_a_name_is_not_escaped() -> None:
    page = card_page(CARD, [TaskLine(name="load_day-9", state="lost", why="_a_ died")])

    assert "- load_day-9 lost: \\_a\\_ died" in page.splitlines()


def test_the_slowest_tasks_are_linked_and_the_timeline_is_shown() -> None:
    picture = b"\x89PNG" * 10_000
    overview = Overview(
        slowest=(
            TaskCost(key="inflate-abc", seconds=130.0, nbytes=48, executions=4),
            TaskCost(key="sum-0d18", seconds=0.034),
        ),
        largest=(TaskCost(key="sum-0d18", seconds=0.034, nbytes=3 * 2**20),),
        picture=picture,
    )
    address = "https://prefect.example/runs/task-run/1"
    run = TaskLine(name="inflate-9", url=address, parameters="n=9")

    page = card_page(CARD, overview=overview, runs={"inflate-abc": run})
    wide = card_page(CARD, overview=structs.replace(overview, picture=picture * 2))

    assert f"| [inflate-9](<{address}>) | 2\xa0min | 4 | `n=9` |" in page
    assert "| sum-0d18 | 0.034\xa0s | 1 |  |" in page
    assert "| sum-0d18 | 3\xa0MiB | 0.034\xa0s |" in page.splitlines()
    assert "![Timeline of the run](data:image/png;base64,iVBOR" in page
    assert "data:image" not in wide
    assert len(page) < 100_000


def test_keys_of_a_collection_can_be_told_apart() -> None:
    name = "random_sample-mean_chunk"
    slowest = tuple(
        TaskCost(key=f"('{name}-bd059acdd0c785a2be969561e48de40e', {i}, 7)", seconds=1)
        for i in range(2)
    )

    page = card_page(CARD, overview=Overview(slowest=slowest))

    rows = [f"| ('{name}-bd059acd', {i}, 7) | 1.0\xa0s | 1 |" for i in range(2)]
    assert [x for x in page.replace("\\", "").splitlines() if name in x] == rows


def test_a_card_that_is_too_long_for_a_page_is_cut() -> None:
    long = RunCard(job="etl", run_id="r1", state="failed", headline="x" * 200_000)

    assert len(card_page(long)) < 100_000


def test_a_run_that_goes_on_shows_how_far_it_is_and_why_it_stands_still() -> None:
    stall = Stall(lasted=40.0, workers=0)
    progress = Progress(
        at=0.0, finished=3, failed=1, rate=0.5, workers=2, memory=2e9, stall=stall
    )
    tasks = {"load": Ended(submitted=5, ended=3, lost=1), "sum": Ended(submitted=3)}

    page = live_page(CARD, progress, tasks=tasks, names={}, seconds=130.0)

    assert page.startswith("## ▶ Running for 2 min")
    assert "⚠ **No task has finished for 40 s: there is no worker.**" in page
    assert (
        "`███████████░░░░░░░░░░░░░░░░░░░` 38%: 3 of 8 submitted task runs have ended"
        in page
    )
    assert "at this rate" not in page
    assert "| Dask tasks | 3 done, 1 failed, 0.5 a second |" in page
    assert "| Memory | 1.9 GiB |" in page
    assert "| load | 3 | 5 | 1 |" in page
    assert "| sum | 0 | 3 | 0 |" in page


def test_a_run_that_waits_shows_since_when_where_and_what_would_end_it() -> None:
    key = "wait-1a2b3c4d-0000-4000-8000-000000000000"
    state = CurrentState(
        text="waiting for 4 m 10 s",
        waits=True,
        cause=f"'{key}' waits for an Event at /srv/etl.py:12 since 03:14:07.",
        usual="it took 3 s in 20 runs",
        ends="the event 'calendar' is set",
    )

    page = live_page(
        CARD,
        Progress(at=0.0),
        tasks={},
        names={key: "wait-0"},
        seconds=260.0,
        state=state,
    )

    for part in ("waiting for 4 m 10 s", "/srv/etl.py:12", "20 runs", "calendar"):
        assert part in page
    assert "- **Usual** " in page


@pytest.mark.parametrize(
    ("stall", "state", "expected"),
    [
        (None, None, "Running: 3 of 8 submitted task runs have ended"),
        (
            Stall(lasted=40.0, workers=0),
            None,
            "No task has finished for 40 s: there is no worker. Running: 3 of 8 submitted task runs have ended",
        ),
        (
            Stall(lasted=40.0, workers=0),
            CurrentState(text="Waiting for 2 m 10 s: KEY waits", waits=True),
            "Waiting for 2 m 10 s: load-3 waits; 3 of 8 submitted task runs have ended",
        ),
        (
            None,
            CurrentState(text="Running for 2 m 10 s: KEY has been running"),
            "Running: 3 of 8 submitted task runs have ended",
        ),
    ],
    ids=["well", "stall", "waits", "takes long"],
)  # fmt: skip
def test_the_list_of_artifacts_begins_with_what_a_run_waits_for(
    stall: Stall | None, state: CurrentState | None, expected: str
) -> None:
    tasks = {"load": Ended(submitted=8, ended=3)}
    if state is not None:
        state = replace(state, text=state.text.replace("KEY", KEY))

    line = live_line(
        Progress(at=0.0, stall=stall), tasks=tasks, names={KEY: "load-3"}, state=state
    )

    assert line == expected


def test_what_one_can_type_is_code_on_the_card_of_a_run_that_waits() -> None:
    state = CurrentState(
        text="Waiting", waits=True, cause=f"{KEY} is at `lock.acquire()`."
    )

    page = live_page(
        CARD, Progress(at=0.0), tasks={}, names={KEY: WORST}, seconds=9.0, state=state
    )

    assert "`lock.acquire()`" in page
    assert "](javascript" not in page.replace("\\](", "")
    assert "<img" not in page.replace("\\<", "")


def test_a_recording_is_asked_only_while_nothing_finishes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = list[int]()

    def read() -> CurrentState:
        asked.append(1)
        return CurrentState(text="waiting", waits=True)

    monkeypatch.setattr(live_artifacts, "_PATIENCE", 0.0)
    monkeypatch.setattr(live_artifacts, "_AGAIN", 1e9)
    waiting = Waiting(read)

    assert waiting.state(Progress(at=0.0, finished=1)) is None
    for _ in range(3):  # it is not read again at once
        shown = waiting.state(Progress(at=1.0, finished=1))
        assert shown is not None
        assert shown.text.startswith("waiting (at ")
    assert waiting.state(Progress(at=2.0, finished=2)) is None
    assert len(asked) == 1


def test_a_recording_is_asked_again_after_each_new_report_of_a_stall(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = iter(["none is known", "waits for a lock", "waits for an event"])
    monkeypatch.setattr(live_artifacts, "_PATIENCE", 0.0)
    monkeypatch.setattr(live_artifacts, "_AGAIN", 1e9)
    monkeypatch.setattr(live_artifacts, "_COST", 0.0)
    monkeypatch.setattr(live_artifacts, "_REST", 0.0)
    monkeypatch.setattr(live_artifacts, "_STORED", 0.0)
    waiting = Waiting(lambda: CurrentState(text=next(answers), waits=True))

    def shown(stall: Stall | None) -> str:
        state = waiting.state(Progress(at=1.0, stall=stall))
        return "" if state is None else state.text.partition(" (at ")[0]

    waiting.state(Progress(at=0.0))
    first, second = Stall(lasted=60.0), Stall(lasted=120.0)
    assert [shown(None), shown(first), shown(first), shown(second), shown(second)] == [
        "none is known", "waits for a lock", "waits for a lock",
        "waits for an event", "waits for an event",
    ]  # fmt: skip


def test_a_large_recording_is_not_read_in_the_process_of_the_flow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def read() -> CurrentState:
        raise AssertionError("read")

    monkeypatch.setattr(live_artifacts, "_PATIENCE", 0.0)
    waiting, large = Waiting(read), Progress(at=0.0, submitted=1_000_000)

    assert [waiting.state(large), waiting.state(large)] == [None, None]


def test_tasks_whose_futures_nobody_holds_are_not_waited_for() -> None:
    tasks = {
        "load": Ended(submitted=4, ended=4),
        "notify": Ended(submitted=2, released=2),
    }

    page = live_page(CARD, None, tasks=tasks, names={}, seconds=9.0)

    assert "100%: 4 of 4 submitted task runs have ended" in page
    assert "| Task | Ended | Submitted | Released |" in page
    assert "| notify | 0 | 2 | 2 |" in page


def test_the_course_of_memory_fits_into_a_line_and_ends_at_the_limit() -> None:
    progress = Progress(at=0.0, workers=1, memory=2**30, memory_limit=2**31)
    memory = [2**31 * i / 200 for i in range(101)]

    page = live_page(CARD, progress, tasks={}, names={}, seconds=9.0, memory=memory)

    course = page.partition("| Memory so far | `")[2].partition("`")[0]
    assert "| Memory | 1.0 GiB of 2.0 GiB (50%) |" in page
    assert len(course) <= 40
    assert (course[0], course[-1]) == ("▁", "▅")
    assert "most: 1.0 GiB" in page


def test_a_run_without_task_runs_shows_how_far_dask_is() -> None:
    progress = Progress(at=0.0, submitted=10, finished=10, workers=1)

    page = live_page(CARD, progress, tasks={}, names={}, seconds=9.0)

    assert (
        "`██████████████████████████████` 100%: 10 of 10 submitted Dask tasks have ended"
        in page
    )


def test_a_run_that_has_submitted_nothing_counts_nothing() -> None:
    page = live_page(CARD, Progress(at=0.0), tasks={}, names={}, seconds=9.0)

    assert "This flow run has submitted no tasks so far." in page
    assert "Dask tasks" not in page
    assert ended_text({}, None) == "this flow run has submitted no tasks so far"


def test_earlier_attempts_are_named_with_their_cards() -> None:
    ended = {"state": "failed", "headline": "Worker *a* died"}
    lines = [
        attempt_line(1, ended, "https://prefect.example/artifacts/artifact/1"),
        attempt_line(2, {"state": "running"}, ""),
    ]

    page = card_page(CARD, attempts=(3, 3), before=lines)

    card = "https://prefect.example/artifacts/artifact/1"
    assert f"[Attempt 1](<{card}>): Worker \\*a\\* died" in page
    assert "Attempt 2 has no verdict: its process ended before there was one." in page


def test_each_attempt_of_a_failed_task_run_is_named() -> None:
    failed = TaskLine(
        name="load-1",
        state="failed",
        why="TypeError",
        earlier=("OSError(1)", "OSError(2)"),
    )

    page = card_page(CARD, [failed])

    whys = "attempt 1: OSError(1); attempt 2: OSError(2); last attempt: TypeError"
    assert f"- load-1 failed: {whys}" in page.splitlines()


def test_attempts_that_failed_alike_are_counted() -> None:
    why = "OSError: no route"
    failed = TaskLine(name="load-1", state="failed", why=why, earlier=(why, why))

    page = card_page(CARD, [failed])

    assert f"- load-1 failed: {why}, in each of 3 attempts" in page.splitlines()


def test_the_card_of_a_long_run_is_updated_a_bounded_number_of_times() -> None:
    ten_hours = list(updates(36_000.0))

    assert len(ten_hours) < 700
    assert max(b - a for a, b in pairwise(ten_hours)) <= 65


def test_a_stall_lasts_until_now() -> None:
    started = ProcessingTask(key="a-1", executing_for=61.0)
    processing = (started, ProcessingTask(key="b-1"))
    stall = Stall(lasted=5.0, workers=1, processing=processing)

    said = stall_text(later(stall, 30.0), {"a-1": "nap-9"})

    assert said == "No task has finished for 35 s: nap-9 (for 91 s) is running."


@pytest.mark.parametrize(
    ("stall", "kind", "reason"),
    [
        (
            Stall(
                workers=1,
                processing=(ProcessingTask(key="a-1", executing_for=61.0),),
            ),
            "running",
            "nap-9 (for 61 s) is running",
        ),
        (
            Stall(workers=1, processing=(ProcessingTask(key="a-1"),)),
            "not-started",
            "nap-9 was sent to workers that run no task",
        ),
        (
            Stall(workers=1, unrunnable=(RestrictedTask(key="a-1"),)),
            "no-worker-can-run",
            "no worker can run nap-9",
        ),
        (
            Stall(
                workers=1,
                unrunnable=(
                    RestrictedTask(key="a-1", resources={"GPU": 1}, workers=("w-1",)),
                ),
            ),
            "no-worker-can-run",
            "no worker can run nap-9 (needs GPU=1 and worker w-1)",
        ),
        (
            Stall(workers=1, paused=("tcp://a",)),
            "workers-paused",
            "all workers are paused because their memory is full",
        ),
    ],
)
def test_a_stall_has_a_reason_with_prefects_names(
    stall: Stall, kind: str, reason: str
) -> None:
    assert stall_kind(stall) == kind
    said = stall_text(replace(stall, lasted=5.0), {"a-1": "nap-9"})

    assert said == f"No task has finished for 5 s: {reason}."
