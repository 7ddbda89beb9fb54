"""What is good to know although the run succeeded; and rules that fail themselves."""

from __future__ import annotations

import pytest
from dask_blackbox import guard
from dask_blackbox.analyse import RULES, Case, findings_in, verdict_of
from dask_blackbox.analyse.completeness import missing_from
from dask_blackbox.finding import Finding
from dask_blackbox.manifest import SourceAccount
from dask_blackbox.run_tables import RunTables
from runs_from_rows import (
    MIB,
    a_failed_task,
    a_graph,
    a_run,
    a_sample,
    a_task,
    a_worker,
    an_event,
    failed_with,
    succeeded,
)


def the_only(run: RunTables) -> Finding:
    (found,) = findings_in(run)
    return found


def test_a_healthy_run_has_nothing_to_say() -> None:
    run = a_run(a_worker(), a_graph(), a_task(), a_sample(), succeeded(at=6))

    assert findings_in(run) == ()
    assert verdict_of((), run) is None


def test_an_empty_run_that_succeeded_has_nothing_to_say() -> None:
    assert findings_in(a_run()) == ()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "distributed.shuffle._exceptions.P2PConsistencyError",
            "Worker left during active",
        ),
        ("RuntimeError", "P2P eec64d2be7a8bca7 failed during unpack phase"),
    ],
)
def test_a_shuffle_that_failed_on_the_way_was_repeated_by_dask_itself(
    name: str, message: str
) -> None:
    run = a_run(
        a_failed_task("join-1", name, message, outcome="retried"),
        a_task("join-1", start=7),
    )

    assert findings_in(run) == ()


def test_errors_that_the_driver_asked_again_for_were_hidden_by_that() -> None:
    run = a_run(
        a_worker(),
        a_graph(),
        a_failed_task("fetch-1", "OSError", "503", at=4.0),
        a_task("fetch-1", start=5.0),
        a_failed_task("fetch-2", "OSError", "503", at=4.0),
        a_task("fetch-2", start=5.0),
    )
    found = the_only(run)

    assert found.rule == "retries-hid-errors"
    assert found.title == "Retries hid 2 errors in 2 tasks of 'fetch'"


def test_an_error_after_work_that_went_well_is_not_hidden_by_it() -> None:
    run = a_run(
        a_worker(),
        a_graph(),
        a_task("fetch-1", start=2.0),
        a_failed_task("fetch-1", "OSError", "503", at=9.0),
    )

    assert the_only(run).rule == "task-exception"


def test_retries_that_hid_errors_are_counted() -> None:
    run = a_run(
        a_failed_task("fetch-1", "ConnectionError", "no", outcome="retried", at=4),
        a_failed_task("fetch-1", "ConnectionError", "no", outcome="retried", at=5),
        a_failed_task("fetch-2", "ConnectionError", "no", outcome="retried", at=6),
        a_task("fetch-1", start=7),
    )
    found = the_only(run)

    assert found.rule == "retries-hid-errors"
    assert found.title == "Retries hid 3 errors in 2 tasks of 'fetch'"
    assert "ConnectionError (3)" in found.cause
    assert "the 3rd at the latest" in found.cause


def test_errors_of_one_function_are_one_finding_whatever_the_keys_begin_with() -> None:
    raised = (
        "Traceback (most recent call last):\n"
        '  File "/jobs/prices.py", line 12, in stock_price\n'
        "    raise StockBusy(kind)\n"
        "StockBusy: 503"
    )
    keys = ("stock-linen", "stock-silk", "other")
    run = a_run(
        *(
            a_failed_task(key, "StockBusy", "503", outcome="retried", traceback=text)
            for key, text in zip(keys, (raised, raised, ""), strict=True)
        )
    )

    assert [each.title for each in findings_in(run)] == [
        "Retries hid 2 errors in 2 tasks of 'stock_price'",
        "Retries hid 1 error in 1 task of 'other'",
    ]


def test_memory_near_the_limit_reports_how_much_would_be_comfortable() -> None:
    run = a_run(
        a_worker(), a_sample(memory=370 * MIB), a_worker("tcp://w2", pid=2),
        a_sample("tcp://w2", memory=200 * MIB),
    )  # fmt: skip
    found = the_only(run)

    assert (found.rule, found.severity) == ("memory-near-limit", "warning")
    assert found.title == "Memory reached 92% of a worker's limit"
    assert "1 of 2 workers came as close" in found.cause
    assert "about 576 MiB" in found.remedy


def test_the_user_may_set_what_is_near() -> None:
    run = a_run(a_worker(), a_sample(memory=330 * MIB))

    assert findings_in(run) == ()
    found = findings_in(run, thresholds={"memory-near-limit.share": 0.8})
    assert [each.rule for each in found] == ["memory-near-limit"]


def test_a_muted_finding_is_not_made() -> None:
    run = a_run(a_worker(), a_sample(memory=390 * MIB))

    assert findings_in(run, muted=["memory-near-limit"]) == ()


def test_a_verdict_cannot_be_muted() -> None:
    run = a_run(failed_with(None, exit_code=1))

    assert findings_in(run, muted=["driver-exception"]) != ()


@pytest.mark.parametrize(
    ("spilled", "disk", "severity"),
    [
        (100 * MIB, 0.0, "notice"),
        (100 * MIB, 2.0, "warning"),
        (5 * MIB, 2.0, "warning"),
    ],
)
def test_spilling_is_a_warning_where_it_cost_time(
    spilled: int, disk: float, severity: str
) -> None:
    run = a_run(a_worker(), a_sample(spilled=spilled), a_task(compute=4.0, disk=disk))
    found = the_only(run)

    assert (found.rule, found.severity) == ("spilling", severity)


def test_a_little_spilling_is_nobodys_business() -> None:
    run = a_run(a_worker(), a_sample(spilled=5 * MIB), a_task(compute=4.0, disk=0.1))

    assert findings_in(run) == ()


def test_what_a_recording_lacks_is_named_by_source() -> None:
    account = SourceAccount(batches=8, gaps=((3, 4),), dropped={"log": 1200})
    run = a_run(
        succeeded(sources={"scheduler tcp://s": account}),
        an_event("capture-failed", doing="metrics", error="OSError()"),
    )
    found = the_only(run)

    assert (found.rule, found.severity) == ("recording-incomplete", "notice")
    assert "Scheduler tcp://s: 2 batches never arrived" in found.cause
    assert "at most 1,200 log lines lost" in found.cause
    assert "metrics failed: OSError()" in found.cause


def test_a_rule_that_fails_does_not_silence_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(self: Case) -> bool:
        raise RuntimeError("a rule of ours is wrong")

    run = a_run(a_worker(), a_failed_task("fetch-1", outcome="retried"))
    monkeypatch.setattr(Case, "deaths", property(broken))
    guard.kept.clear()

    found = findings_in(run)

    assert [each.rule for each in found] == ["retries-hid-errors", "rule-failed"]
    assert "a rule of ours is wrong" in found[-1].cause
    assert {str(error) for _, error in guard.kept} == {"a rule of ours is wrong"}
    guard.kept.clear()


def test_every_rule_has_a_slug_of_its_own_and_a_page() -> None:
    assert len({rule.slug for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule.question.endswith("?"), rule.slug
        for text in (rule.page.detects, rule.page.evidence, rule.page.remedy):
            assert text.endswith("."), rule.slug
        assert rule.page.before != rule.page.after, rule.slug


@pytest.mark.parametrize(
    ("begun", "number"), [(0, 0), (1, 1), (9, 2), (None, 0)], ids=str
)
def test_tasks_that_began_before_their_worker_was_recorded_are_counted(
    begun: int | None, number: int
) -> None:
    here = an_event("process-ancestors", "tcp://w1", at=4.0, pid=100, begun=begun)
    tasks = [a_task(f"load-{n}", start=start) for n, start in enumerate((2, 3, 5))]
    found = missing_from(a_run(a_worker(), here, tasks))

    text = "began there before it was recorded"
    said = [each for each in found.get("tcp://w1", ()) if text in each]
    assert len(said) == bool(number)
    assert all(each.startswith(f"{number} task") for each in said)
