"""What the card says of a run: a public contract (docs/card.md)."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import msgspec
import pytest
from dask_blackbox.analyse import findings_in, state_of
from dask_blackbox.analyse.numbers import NUMBERS
from dask_blackbox.card import RunCard, card_of
from dask_blackbox.finding import ChainStep, Change, Evidence, Finding, Subject
from dask_blackbox.formatting import (
    class_of,
    counted,
    duration,
    listed,
    prefix_of,
    short,
    size,
)
from dask_blackbox.manifest import SourceAccount
from dask_blackbox.run_tables import RunTables
from runs_from_rows import (
    LIMIT,
    MIB,
    Piece,
    a_death,
    a_departure,
    a_failed_task,
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

DOCS = Path(__file__).parents[2] / "docs"


UNREAD = "its last log lines may be missing: its nanny was lost with it"


def card(run: RunTables) -> RunCard:
    return card_of(run, findings_in(run))


def a_memory_death(address: str, pid: int, at: float) -> list[Piece]:
    return [
        a_worker(address, pid=pid, name="0", at=at - 4),
        an_event(
            "worker-restarted-for-memory", address, at=at - 0.1, pid=pid, rss=390 * MIB
        ),
        *a_death(address, pid=pid, exit_code=-15, at=at, executing=["hog-1"]),
    ]


def test_the_card_of_a_failed_run_gives_the_reason_in_its_headline() -> None:
    run = a_run(
        *a_memory_death("tcp://w1", 1, 6),
        *a_memory_death("tcp://w2", 2, 11),
        *raised_in("hog-1", killed_worker("hog-1"), at=11),
    )
    found = card(run)

    assert found.state == "failed"
    assert found.headline == (
        "Workers died 2 times at their 400 MiB memory limit while running 'hog'"
    )
    assert found.verdict is not None
    assert found.verdict not in found.findings
    assert (found.numbers["deaths"], found.numbers["restarts"]) == (2, 1)


def test_the_card_of_a_healthy_run_reports_what_it_did() -> None:
    run = a_run(
        a_worker(),
        a_worker("tcp://w2", pid=2),
        a_graph(),
        a_task("inc-1"),
        a_task("inc-2"),
        a_sample(memory=100 * MIB),
        succeeded(at=12),
    )
    found = card(run)

    assert found.state == "succeeded"
    assert found.verdict is None
    assert found.headline == (
        "Succeeded in 12 s: 2 tasks on 2 workers, peak memory 100 MiB of 400 MiB"
    )
    assert found.completeness == {"recorded": True, "kept": "store", "complete": True}


def test_the_headline_counts_results_from_a_cache_apart() -> None:
    pieces = (a_task("load-1"), a_task("load-2"), an_event("result-cached", "load-2"))

    found = card(a_run(a_worker(), *pieces, succeeded(at=12)))

    assert found.headline == "Succeeded in 12 s: 1 task and 1 from a cache on 1 worker"


def test_the_headline_of_a_run_that_was_not_recorded_reports_it() -> None:
    run = a_run(succeeded(at=12), recorded=False)
    found = card_of(run, findings_in(run), recorded=False, reason="no bucket 'flights'")

    assert found.headline == "Succeeded, not recorded: no bucket 'flights'"


def test_the_headline_of_a_run_that_succeeded_by_luck_reports_it() -> None:
    run = a_run(a_worker(), a_sample(memory=390 * MIB), succeeded(at=12))

    assert card(run).headline.endswith("; 1 warning: memory-near-limit")


@pytest.mark.parametrize("message", ["x" * 500, "two\nlines\n" * 50, "\x1b[31mred"])
def test_a_headline_is_one_short_line_whatever_the_message(message: str) -> None:
    run = a_run(failed_with(an_exception("ValueError", message)))
    line = card(run).headline

    assert len(line) <= 120
    assert line.isprintable()


def test_the_numbers_are_measured_not_guessed() -> None:
    run = a_run(
        a_worker(nthreads=2),
        a_worker("tcp://w2", pid=2, nthreads=2, at=2),
        *a_departure("tcp://w2", at=9, stimulus="retire-workers-1", expected=True),
        a_worker("tcp://w3", pid=3, nthreads=2, at=9, nanny="tcp://n3"),
        a_graph(),
        a_task("inc-1", compute=1.5, nbytes=1000),
        a_task("inc-2", compute=0.5, disk=0.25, nbytes=24),
        a_task("total-1", compute=0.0, nbytes=0),
        an_event("result-cached", "inc-2"),
        an_event("task-not-run", "total-1"),
        an_event("task-failed", "load-1"),
        a_failed_task("fetch-1", outcome="retried"),
        a_sample(at=5, memory=300 * MIB, spilled=MIB, net_read=1e6),
        a_sample(at=7, memory=200 * MIB, net_read=1e6),
        served(2_000, at=10),
        served(5_000, at=20),
        succeeded(at=30),
    )
    numbers = card(run).numbers

    assert numbers == {
        "duration": 30.0,
        "executions": 3,
        "tasks": 2,
        "cached": 1,
        "not_run": 1,
        "task_failures": 1,
        "host_failures": 1,
        "retried": 1,
        "killed": 0,
        "workers": 2,
        "threads": 4,
        "deaths": 0,
        "restarts": 0,
        "peak_memory": 300 * MIB,
        "memory_limit": LIMIT,
        "peak_memory_share": 0.75,
        "spilled": MIB,
        "bytes_transferred": 5000,
        "result_bytes": 1024,
        "compute_seconds": 2.0,
        "transfer_seconds": 0.0,
        "disk_seconds": 0.25,
        "deserialize_seconds": 0.0,
        # Two threads for 29, 7 and 21 seconds, and 400 MiB for each worker.
        "thread_seconds": 114.0,
        "memory_gib_seconds": 22.266,
    }
    assert list(numbers) == list(NUMBERS)


def served(nbytes: int, *, at: float) -> Piece:
    """Return Dask's own count of what its workers handed over so far."""
    return an_event(
        "fine-metrics",
        at=at,
        totals=[
            ["get-data", "memory-read", "bytes", nbytes - 500],
            ["get-data", "disk-read", "bytes", 500],
            ["get-data", "network", "seconds", 4.0],
            ["execute", "inc", "memory-read", "bytes", 10**9],
        ],
    )


def test_what_a_scheduler_had_handed_over_before_is_not_the_runs() -> None:
    run = a_run(served(70_000, at=0.1), served(75_000, at=20))

    assert card(run).numbers["bytes_transferred"] == 5000


def test_traffic_of_a_host_is_not_taken_for_the_runs() -> None:
    run = a_run(a_worker(), a_sample(net_read=1e9), a_sample(at=9, net_read=1e9))

    assert "bytes_transferred" not in card(run).numbers


def a_cluster(address: str, *, at: float, nanny: str | None) -> list[Piece]:
    """Return a scheduler with a worker named 0, which leaves after five seconds."""
    worker = f"{address}-w"
    return [
        an_event("scheduler-info", address, at=at),
        a_worker(worker, at=at + 1, name="0", nanny=nanny),
        *a_departure(worker, at=at + 5, stimulus="retire-workers-1", expected=True),
    ]


@pytest.mark.parametrize("nanny", [None, "own"])
def test_the_worker_0_of_a_second_cluster_is_no_restart(nanny: str | None) -> None:
    first, second = ((f"{nanny}-{n}" if nanny else None) for n in (1, 2))
    run = a_run(
        *a_cluster("tcp://s1", at=1, nanny=first),
        *a_cluster("tcp://s2", at=20, nanny=second),
    )

    assert card(run).numbers["restarts"] == 0
    assert card(run).numbers["workers"] == 1


@pytest.mark.parametrize("nanny", [None, "tcp://n1"])
def test_a_process_in_the_place_of_one_that_left_is_a_restart(
    nanny: str | None,
) -> None:
    run = a_run(
        *a_cluster("tcp://s1", at=1, nanny=nanny),
        a_worker("tcp://w2", at=8, pid=2, name="0", nanny=nanny),
    )

    assert card(run).numbers["restarts"] == 1


def test_log_lines_that_never_came_are_missing() -> None:
    run = a_run(
        *(a_log_line("x", seq=seq) for seq in (7, 8, 12, 12, 13)),
        *(a_log_line("x", seq=seq, pid=101) for seq in (1, 2, 3)),
        a_log_line("x", seq=40, source="tcp://w2"),
    )

    assert card(run).completeness == {
        "recorded": True,
        "kept": "store",
        "complete": False,
        "missing": {"tcp://w1": ["3 log lines lost"]},
    }


@pytest.mark.parametrize(
    ("dropped", "text"),
    [
        (0, {"tcp://w1": ["3 log lines lost"]}),
        (3, {"tcp://w1": ["3 log lines lost"]}),
        (2_000, {"logs": ["at least 3 log lines lost, at most 2,000"]}),
    ],
)
def test_lines_that_were_dropped_and_lines_that_are_missing_are_reported_once(
    dropped: int, text: dict[str, list[str]]
) -> None:
    account = SourceAccount(dropped={"log": dropped})
    run = a_run(
        *(a_log_line("x", seq=seq) for seq in (7, 8, 12, 13)),
        succeeded(sources={"scheduler tcp://s": account}),
    )

    assert card(run).completeness["missing"] == text


def test_lines_of_the_driver_before_the_first_that_came_are_lost() -> None:
    lines = [a_log_line("x", seq=seq, role="driver", source="driver") for seq in (4, 5)]

    assert card(a_run(*lines)).completeness["missing"] == {
        "driver": ["3 log lines lost"]
    }


@pytest.mark.parametrize(
    ("by", "text"),
    [
        (None, None),
        ("recorder", None),
        ("the nanny's log", {"tcp://w1": [UNREAD]}),
        ("itself", {"tcp://w1": [UNREAD]}),
    ],
)
def test_last_lines_that_nobody_could_read_are_missing(
    by: str | None, text: dict[str, list[str]] | None
) -> None:
    run = a_run(
        a_worker(at=1, pid=7),
        an_event("nanny-lost", "tcp://w1", at=13, pid=7),
        an_event("worker-exit-report", "tcp://w1", at=14, pid=7, by=by),
    )

    assert card(run).completeness.get("missing") == text


SILENT = "its last log lines may be missing: it had been silent for 40 s"


@pytest.mark.parametrize(
    ("later", "text"),
    [
        ((), {"tcp://w1": [SILENT]}),
        (
            (
                an_event(
                    "worker-unresponsive", "tcp://w1", at=60, pid=7, lines_read=True
                ),
            ),
            None,
        ),
        ((a_log_line("I am back", at=61, source="tcp://w1"),), None),
    ],
    ids=["unread", "read on its host", "sent later"],
)
def test_last_lines_of_a_worker_that_had_sent_nothing_are_missing(
    later: tuple[Piece, ...], text: dict[str, list[str]] | None
) -> None:
    run = a_run(
        a_worker(at=1, pid=7),
        a_log_line("so far", at=18, source="tcp://w1"),
        an_event("worker-unresponsive", "tcp://w1", at=59, pid=7, silent_for=40.0),
        *later,
    )

    assert card(run).completeness.get("missing") == text


def test_how_far_the_recording_of_a_lost_run_goes_is_reported() -> None:
    run = a_run(a_worker(at=1), a_task("inc-1"), a_sample(at=41), ("ending", None))
    run.last_heartbeat = run.manifest.started + 44
    found = card(run)

    assert found.state == "lost"
    assert found.verdict is not None
    assert "The last recorded event is from 41 s after the start" in found.verdict.cause
    assert "nothing later is recorded" in found.verdict.cause
    [text] = found.completeness["missing"]["recorder"]
    assert "the recording ends 41 s after the start" in text
    assert "the last heartbeat was" in text


def test_the_last_heartbeat_of_a_run_that_may_still_run_is_reported() -> None:
    run = a_run(a_worker(at=1), ("ending", None))
    run.last_heartbeat = time.time() - 20
    found = card(run)

    assert found.state == "running"
    [text] = found.completeness["missing"]["recorder"]
    assert re.fullmatch(
        r"has not reported the end of the run; its last heartbeat was 2\d s ago", text
    )
    assert re.search(r"; last heartbeat 2\d s ago$", found.headline)
    run.last_heartbeat = time.time() - 6
    assert "heartbeat" not in card(run).headline


def test_an_unrecorded_driver_error_is_reported_without_much_confidence() -> None:
    error = an_exception("KeyError", "'tuesday'")
    run = a_run(failed_with(error, at=3), recorded=False)
    found = card_of(run, findings_in(run), recorded=False, reason="x").verdict

    assert found is not None
    assert (found.rule, found.confidence) == ("driver-exception", "low")
    assert "No cluster was recorded" in found.cause
    assert "No graph had reached" not in found.cause


def test_a_run_that_could_not_be_recorded_has_a_card_all_the_same() -> None:
    run = a_run(
        failed_with(an_exception("KeyError", "'tuesday'"), at=3), recorded=False
    )
    found = card_of(run, findings_in(run), recorded=False, reason="no such bucket")

    assert found.completeness == {
        "recorded": False,
        "kept": "none",
        "complete": False,
        "reason": "no such bucket",
        "missing": {"recorder": ["no data arrived from the cluster or the driver"]},
    }
    assert found.verdict is not None
    assert found.verdict.rule == "driver-exception"
    assert found.numbers["duration"] == 3.0


def test_a_recording_that_waits_on_this_machine_is_not_called_unrecorded() -> None:
    found = card_of(
        a_run(succeeded()), [], recorded=False, spooled=True, reason="no route to host"
    )

    assert found.completeness["kept"] == "spool"
    assert found.completeness["recorded"] is False
    said = "recorded on this machine only: no route to host"
    assert found.headline == f"Succeeded, {said}"
    for shown in (found.to_text(), found.to_markdown(), found.to_html()):
        plain = " ".join(shown.lower().split())
        assert "recorded on this machine only" in plain
        assert "not recorded" not in plain


def test_what_is_missing_stands_on_the_card_by_source() -> None:
    account = SourceAccount(dropped={"task": 7})
    found = card(a_run(succeeded(sources={"scheduler tcp://s": account})))

    assert found.completeness == {
        "recorded": True,
        "kept": "store",
        "complete": False,
        "missing": {"scheduler tcp://s": ["7 task rows dropped"]},
    }


def test_the_links_come_through() -> None:
    run = a_run()

    assert card_of(run, (), links={"report": "s3://b/r"}).links == {
        "report": "s3://b/r"
    }


def test_a_card_survives_its_json() -> None:
    run = a_run(
        a_worker(),
        *a_death(exit_code=-11, executing=["boom-1"]),
        *raised_in("boom-1", killed_worker("boom-1")),
    )
    found = card(run)

    assert RunCard.from_json(found.to_json()) == found
    assert json.loads(found.to_json())["schema"] == "dask-blackbox/card/1"


def test_a_recording_without_an_end_is_running_while_its_heart_beats() -> None:
    run = a_run(a_worker(), ("ending", None))
    run.last_heartbeat = run.manifest.started + 100

    assert state_of(run, now=run.manifest.started + 120) == "running"
    assert state_of(run, now=run.manifest.started + 1000) == "lost"


def test_an_aborted_run_has_a_verdict() -> None:
    found = card(a_run(a_worker(), aborted()))

    assert found.state == "aborted"
    assert found.headline == "The driver disappeared after 20 s"


def test_every_number_and_field_of_the_card_is_documented() -> None:
    page = (DOCS / "card.md").read_text()
    documented = set(re.findall(r"`(\w+)`", page))
    fields = {
        field.name
        for struct in (RunCard, Finding, ChainStep, Change, Evidence, Subject)
        for field in msgspec.structs.fields(struct)
    }

    assert fields | set(NUMBERS) <= documented


def test_the_example_in_the_docs_is_a_card() -> None:
    page = (DOCS / "card.md").read_text()
    (example,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)

    assert RunCard.from_json(example).state == "failed"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (size(400 * MIB), "400 MiB"),
        (size(1536 * MIB), "1.5 GiB"),
        (size(0), "0 bytes"),
        (size(1023), "1023 bytes"),
        (duration(0.42), "420 ms"),
        (duration(59.6), "1 m 00 s"),
        (duration(7800), "2 h 10 m"),
        (counted(1, "batch", "batches"), "1 batch"),
        (counted(1200, "task"), "1,200 tasks"),
        (listed(["a"]), "a"),
        (listed(["a", "b", "c", "d", "e"]), "a, b, c and 2 more"),
        (listed([]), "none"),
        (short("one\n two  three", 9), "one two…"),
        (prefix_of("inc-0123456789abcdef"), "inc"),
        (prefix_of("('sum-part-9f8e7d6c', 0, 1)"), "sum-part"),
        (prefix_of("inc-dc7230e7-4200-4bda-9b2a-c79ae1d48678"), "inc"),
        (prefix_of("sleep-dc7230e7-4200-4bda-9b2a-c79ae1d48678-3"), "sleep"),
        (prefix_of("cut-8518b3e7-5297-45a3-bfca-a645622b011f"), "cut"),
        (prefix_of("plan_route-altstadt"), "plan_route"),
        (class_of("distributed.scheduler.KilledWorker"), "KilledWorker"),
        (class_of("struct.error"), "struct.error"),
        (prefix_of("boom"), "boom"),
        (prefix_of("die-3"), "die"),
        (prefix_of("tile-A01-abcdefab"), "tile"),
        (prefix_of("load-day-abcdefab"), "load-day"),
        (prefix_of("ae05086432ca935f6eba409a8ecd4896"), "data"),
    ],
)
def test_numbers_and_keys_are_formatted_for_people(text: str, expected: str) -> None:
    assert text == expected


def test_a_scheduler_that_ended_with_its_driver_was_recorded_until_then() -> None:
    account = SourceAccount(batches=4, first=1, last=4, error="Connect call failed")
    found = card(a_run(succeeded(sources={"scheduler tcp://s": account})))

    text = found.completeness["missing"]["scheduler tcp://s"]
    assert text == ["recorded only in part (Connect call failed)"]


@pytest.mark.parametrize("jump", [-3600.0, 3600.0])
def test_a_clock_that_is_set_does_not_change_how_long_a_run_took(jump: float) -> None:
    run = a_run(
        succeeded(at=60.0 + jump, lasted=60.0),
        a_worker(),
        a_graph(),
        a_task("x-1"),
    )
    found = card_of(run, findings_in(run))

    assert found.numbers["duration"] == 60.0
    assert found.headline.startswith("Succeeded in 1 m 00 s")
