"""`performance_report.html`: Dask's own tabs, from the recording, escaped and bounded."""

from __future__ import annotations

import json
import re

from dask_blackbox.card import card_of
from dask_blackbox.recorder.pulling import reported_within
from dask_blackbox.report import performance_html
from dask_blackbox.report.performance import log_markup
from dask_blackbox.report.profile_tree import (
    ProfileNode,
    drawable,
    merged_profile,
    seen_at_least,
)
from dask_blackbox.run_tables import RunTables
from runs_from_rows import (
    a_death,
    a_log_line,
    a_run,
    a_sample,
    a_task,
    a_worker,
    an_event,
    failed_with,
)


def a_frame(name: str, count: int, *children: dict[str, object]) -> dict[str, object]:
    reported = {
        "filename": f"{name}.py",
        "name": name,
        "line_number": 3,
        "line": "x = 1",
    }
    return {
        "count": count,
        "identifier": name,
        "description": reported,
        "children": {str(child["identifier"]): child for child in children},
    }


def a_profiled_run() -> RunTables:
    first = a_frame("root", 10, a_frame("load", 6), a_frame("join", 4))
    second = a_frame("root", 10, a_frame("join", 10, a_frame("sort", 9)))
    return a_run(
        an_event("profile", at=10, start=1, stop=10, tree=first),
        an_event("profile", at=20, start=10, stop=20, tree=second),
    )


def counts_in(tree: ProfileNode) -> list[tuple[str, int]]:
    """Return name and count of each frame, each before those that it calls."""
    found, below = [], [tree]
    while below:
        node = below.pop()
        found.append((node["description"]["name"], node["count"]))
        below += reversed(node["children"].values())
    return found


def test_profiles_of_a_whole_run_add_up() -> None:
    tree = merged_profile(a_profiled_run())

    assert tree is not None
    drawn, left_out = drawable(tree)
    assert counts_in(drawn) == [("root", 20), ("join", 14), ("sort", 9), ("load", 6)]
    assert left_out == 0


def test_a_very_deep_stack_is_merged_all_the_same() -> None:
    tree = a_frame("leaf", 1)
    for _ in range(450):
        tree = a_frame("recursive", 1, tree)
    run = a_run(an_event("profile", tree=tree), an_event("profile", tree=tree))

    merged = merged_profile(run)

    assert merged is not None
    drawn, left_out = drawable(merged)
    assert merged["count"] == 2
    assert len(counts_in(drawn)) == 201
    assert left_out == 1


def test_what_the_flame_graph_leaves_out_is_reported() -> None:
    tree = a_frame("root", 30_000, a_frame("often", 29_999), a_frame("rare", 1))
    run = a_run(an_event("profile", tree=tree, left_out_below=2), a_worker())

    page = performance_html(run, card_of(run, ()))

    assert "1 frame is too small to draw" in page
    assert "not all frames seen fewer than 2 times are shown" in page
    assert "often.py" in page
    assert "rare.py" not in page


def test_the_rarest_frames_of_a_large_profile_are_left_out_and_that_is_reported() -> (
    None
):
    often = [a_frame(f"often_{n}", 900) for n in range(10)]
    tree = a_frame(
        "root", 9_300, *often, *(a_frame(f"rare_{n}", 1) for n in range(300))
    )

    text = reported_within({"start": 1.0}, tree, 5_000)
    reported = json.loads(text)
    run = a_run(an_event("profile", **reported))

    assert len(text) <= 5_000
    assert (reported["start"], reported["left_out_below"]) == (1.0, 2)
    assert seen_at_least(run) == 2
    assert set(reported["tree"]["children"]) == {f"often_{n}" for n in range(10)}


def test_a_profile_that_fits_is_whole() -> None:
    reported = json.loads(
        reported_within({}, a_frame("root", 2, a_frame("once", 1)), 5_000)
    )

    assert "left_out_below" not in reported
    assert set(reported["tree"]["children"]) == {"once"}


def test_a_function_that_calls_nothing_has_its_samples() -> None:
    # Dask counts no innermost frames: `busy` and `idle` share what `call` has.
    tree = a_frame(
        "root", 9, a_frame("call", 9, a_frame("busy", 0), a_frame("deep", 4, a_frame("leaf", 0)), a_frame("idle", 0))
    )  # fmt: skip

    merged = merged_profile(a_run(an_event("profile", tree=tree)))

    assert merged is not None
    counts = dict(counts_in(merged))
    assert counts == {"root": 9, "call": 9, "busy": 3, "deep": 4, "leaf": 4, "idle": 2}


def test_a_run_without_a_profile_has_none() -> None:
    assert merged_profile(a_run()) is None


def test_killed_executions_are_counted_in_the_summary() -> None:
    run = a_run(
        a_worker(),
        a_task("load-1"),
        a_death(exit_code=-11, executing=["join-1"]),
        a_sample(),
        failed_with(),
    )

    page = performance_html(run, card_of(run, ()))

    assert "number of task executions: 2" in page
    assert "killed: 1" in page
    for title in ("Summary", "Task Stream", "System", "Worker Profile (compute)"):
        assert f'"title":"{title}"' in page


def test_the_page_fetches_nothing_and_runs_only_its_own_scripts() -> None:
    run = a_run(a_worker(), a_task("</script><script>owned()</script>"))

    page = performance_html(run, card_of(run, ()))

    assert "<script>owned()" not in page
    assert not re.search(r"<script[^>]*\ssrc=|<link[^>]*\shref=", page)
    assert re.search(r"script-src 'sha256-[^;]*; style-src", page)
    assert "'unsafe-eval'" not in page


def test_log_lines_are_escaped_and_the_oldest_of_very_many_are_counted_out() -> None:
    lines = [
        a_log_line(f"<b>{n}</b>", at=n / 100, level=20, role="scheduler")
        for n in range(2_500)
    ]
    run = a_run(lines, a_log_line("first error", at=0, role="scheduler", level=40))

    rendered = log_markup(run.logs, ("scheduler",))

    assert "showing 2,000 of 2,501 log lines" in rendered
    assert "first error" in rendered
    assert "&lt;b&gt;2499&lt;/b&gt;" in rendered
    assert "&lt;b&gt;12&lt;/b&gt;" not in rendered


def test_the_same_run_gives_the_same_bytes() -> None:
    id_of_a_task = "load-12345678-1234-4123-8123-123456789abc"
    run = a_run(a_worker(), a_task(id_of_a_task), a_sample(), failed_with())
    card = card_of(run, ())

    first, second = performance_html(run, card), performance_html(run, card)

    assert first == second
    assert id_of_a_task in first
