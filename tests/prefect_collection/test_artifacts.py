"""The artifact that a card becomes."""

from __future__ import annotations

import pytest
from dask_blackbox import RunCard
from dask_blackbox.overview import Overview, TaskCost
from dask_blackbox.protocol.messages import Progress
from msgspec import structs
from prefect_dask_blackbox.artifacts import slug
from prefect_dask_blackbox.page import TaskLine, card_page, live_page
from prefect_dask_blackbox.stalls import stall_words

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

    assert page.splitlines()[:7] == [
        "## ✔ Succeeded in 3 s",
        "",
        f"[Report](<{CARD.links['report']}>) · Recording: `s3://bucket/runs/r1/`",
        "",
        "Attempt 2 of 3 of this flow run.",
        "",
        f"4 lines of Dask's {WHO} are in the log of this flow run.",
    ]


def test_task_runs_that_were_hit_are_linked_with_their_parameters() -> None:
    lost = TaskLine(
        name="inflate-9|x",
        url="https://prefect.example/runs/task-run/1",
        state="lost",
        parameters="n=9, text='`|<b>'",
        why="Worker <1> ran *out* of memory",
    )

    page = card_page(CARD, [lost])

    assert page.count("### Task runs that were hit") == 1
    assert (
        "| [inflate-9\\|x](<https://prefect.example/runs/task-run/1>) | lost "
        "| `n=9, text=''\\|<b>'` | Worker \\<1\\> ran \\*out\\* of memory |"
    ) in page


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

    assert f"| [inflate-9](<{address}>) | 2 min | 4 | `n=9` |" in page
    assert "| sum-0d18 | 0.034 s | 1 |  |" in page
    assert "| sum-0d18 | 3 MiB | 0.034 s |  |" in page
    assert "![Timeline of the run](data:image/png;base64,iVBOR" in page
    assert "data:image" not in wide
    assert len(page) < 100_000


def test_a_card_that_is_too_long_for_a_page_is_cut() -> None:
    long = RunCard(job="etl", run_id="r1", state="failed", headline="x" * 200_000)

    assert len(card_page(long)) < 100_000


def test_a_run_that_goes_on_shows_how_far_it_is_and_why_it_stands_still() -> None:
    stall = {"lasted": 40.0, "workers": 0}
    progress = Progress(
        at=0.0, finished=3, failed=1, rate=0.5, workers=2, memory=2e9, stall=stall
    )

    page = live_page(CARD, progress, submitted=7, done=3, names={}, seconds=130.0)

    assert page.startswith("## ▶ Running for 2 min")
    assert "> **No task has finished for 40 s: there is no worker.**" in page
    assert "| Task runs | 3 of 7 have ended |" in page
    assert "| Dask tasks | 3 done, 1 failed, 0.5 a second |" in page
    assert "| Memory | 1.9 GiB |" in page


@pytest.mark.parametrize(
    ("stall", "reason"),
    [
        (
            {"workers": 1, "processing": [{"key": "a-1", "executing_for": 61.0}]},
            "running are nap-9 (for 61 s)",
        ),
        (
            {"workers": 1, "processing": [{"key": "a-1", "executing_for": None}]},
            "nap-9 were sent to workers that run no task",
        ),
        (
            {"workers": 1, "unrunnable": [{"key": "a-1"}]},
            "no worker can run nap-9",
        ),
        (
            {"workers": 1, "paused": ["tcp://a"]},
            "all workers are paused because their memory is full",
        ),
    ],
)
def test_a_stall_has_a_reason_with_prefects_names(
    stall: dict[str, object], reason: str
) -> None:
    said = stall_words({"lasted": 5.0, **stall}, {"a-1": "nap-9"})

    assert said == f"No task has finished for 5 s: {reason}."
