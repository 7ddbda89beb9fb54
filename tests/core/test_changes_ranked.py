"""What changed since the last good run: rare before usual, what fits the verdict first."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from dask_blackbox.analyse.changes import changes_on_card, differences, seen_before
from dask_blackbox.analyse.changes.ranking import VerdictContext
from dask_blackbox.analyse.earlier_runs import History
from dask_blackbox.finding import Finding, RetryAdvice, Subject
from dask_blackbox.sketch import Inputs, Sketch
from sketches import GIB, a_night, a_prefix, failed, history_of


def a_verdict(advice: RetryAdvice = "code", **fields: Any) -> Finding:
    reported: dict[str, Any] = {
        "rule": "task-exception",
        "title": "ValueError in 'join'",
        "cause": "It raised.",
        "severity": "failure",
        "confidence": "high",
        "remedy": "Mend it.",
        "retry_advice": advice,
    }
    return Finding(**reported | fields)


def whats(before: Sketch, after: Sketch) -> list[tuple[str, str]]:
    return [(each.kind, each.what) for each in differences(before, after)]


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        ({"package/workers": {"pandas": "3.0.0"}}, ("package", "pandas (workers)")),
        ({"python": {"workers": "3.12.1"}}, ("python", "Python of the workers")),
        (
            {"dask-config": {"distributed.worker.memory.target": "0.9"}},
            ("dask-config", "distributed.worker.memory.target"),
        ),
        ({"parameters": {"limit": "500"}}, ("parameters", "limit")),
        ({"parameters": {"tier": "gold"}}, ("parameters", "tier")),
        ({"code": {"callable main": "bbbb"}}, ("code", "callable main")),
        ({"code": {"git commit": "decade"}}, ("code", "git commit")),
        (
            {"cluster-shape": {"memory limit": "4 GiB"}},
            ("cluster-shape", "memory limit"),
        ),
        ({"host": {"orchestrator": "airflow 3.2.0"}}, ("host", "orchestrator")),
    ],
)
def test_each_kind_of_fact_is_compared(
    facts: dict[str, dict[str, str]], found: tuple[str, str]
) -> None:
    assert whats(a_night(1), a_night(2, facts=facts)) == [found]


def test_a_package_that_changes_everywhere_is_reported_once() -> None:
    roles = ("driver", "scheduler", "workers")
    facts = {f"package/{role}": {"pandas": "3.0.0"} for role in roles}

    assert whats(a_night(1), a_night(2, facts=facts)) == [("package", "pandas")]


def test_a_new_python_everywhere_is_reported_once() -> None:
    pythons = dict.fromkeys(("driver", "scheduler", "workers"), "3.12.1")

    assert whats(a_night(1), a_night(2, facts={"python": pythons})) == [
        ("python", "Python")
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2026-11-20", "2026-11-21"),
        ("20261120", "20261121"),
        ("2026-11-20T02:00:00+00:00", "2026-11-21T02:00:00+00:00"),
        ("s3://shop/2026/11/20/", "s3://shop/2026/11/21/"),
        ("/tmp/abc1/x", "/tmp/zzz9/x"),
        (
            "5f1b5a1e-0001-4b6e-8d5b-aaaaaaaaaaaa",
            "6f1b5a1e-0002-4b6e-8d5b-bbbbbbbbbbbb",
        ),
        ("tcp://10.0.0.1:4001", "tcp://10.0.0.2:5001"),
        ("1795230000.123", "1795316400.456"),
    ],
)
def test_what_differs_each_night_is_no_change(one: str, other: str) -> None:
    before = a_night(1, facts={"parameters": {"given": one}})
    after = a_night(2, facts={"parameters": {"given": other}})

    assert whats(before, after) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [("100", "101"), ("https://api.prod/x", "https://api.staging/x"), ("gold", "tin")],
)
def test_what_somebody_chose_is_a_change(one: str, other: str) -> None:
    before = a_night(1, facts={"parameters": {"given": one}})
    after = a_night(2, facts={"parameters": {"given": other}})

    assert whats(before, after) == [("parameters", "given")]


def test_versions_that_look_like_dates_are_compared_to_the_letter() -> None:
    before = a_night(1, facts={"package/driver": {"feed": "2026.11.20"}})
    after = a_night(2, facts={"package/driver": {"feed": "2026.11.21"}})

    assert whats(before, after) == [("package", "feed")]


def test_a_renamed_prefix_that_runs_the_same_code_is_no_change() -> None:
    old, new = a_prefix("join", code="abc"), a_prefix("join-customers", code="abc")

    assert whats(a_night(1, prefixes=(old,)), a_night(2, prefixes=(new,))) == []


def test_more_partitions_are_a_change_of_the_input_and_not_of_the_graph() -> None:
    inputs = Inputs(partitions=400, nbytes=40 * GIB)
    large = tuple(
        a_prefix(name, planned=400, roots=400 * (name == "load"))
        for name in ("load", "join")
    )

    assert whats(a_night(1), a_night(2, inputs=inputs, prefixes=large)) == [
        ("input-size", "bytes"),
        ("input-size", "partitions"),
    ]


def test_a_part_of_the_graph_that_is_new_is_a_change_of_the_graph() -> None:
    parts = (*a_night(1).prefixes, a_prefix("shuffle"))

    assert ("graph-shape", "prefix shuffle") in whats(
        a_night(1), a_night(2, prefixes=parts)
    )


def test_what_a_lost_run_does_not_report_of_has_not_changed() -> None:
    lost = Sketch(
        job="nightly",
        run_id="run-2",
        state="lost",
        started=a_night(2).started,
        unknown=(
            "package/driver",
            "package/scheduler",
            "package/workers",
            "dask-config",
            "dask-config/scheduler",
            "parameters",
            "code",
            "cluster-shape",
        ),
    )

    # The host is in its manifest, which is always there.
    assert {kind for kind, _ in whats(a_night(1), lost)} <= {"host"}


@pytest.mark.parametrize("what", ["git commit", "uncommitted changes"])
@pytest.mark.parametrize("known_first", [True, False])
def test_what_git_did_not_report_in_time_has_not_changed(
    what: str, *, known_first: bool
) -> None:
    known = a_night(facts={"code": {what: "no"}})
    code = {name: each for name, each in known.facts["code"].items() if name != what}
    unknown = msgspec.structs.replace(known, facts={**known.facts, "code": code})
    nights = [known, unknown]

    assert whats(*(nights if known_first else nights[::-1])) == []


def test_a_change_of_every_night_is_left_out_and_named() -> None:
    nights = [a_night(n, facts={"parameters": {"batch": f"b{n}x"}}) for n in range(8)]
    last = failed(
        a_night(8, facts={"parameters": {"batch": "b8x"}, "code": {"git commit": "d"}})
    )

    reported = changes_on_card(history_of(nights), last, VerdictContext(a_verdict()))

    assert [each.what for each in reported.changes] == ["git commit"]
    assert reported.changes[0].rarity == 1.0
    assert reported.past.habits == ("parameters batch",)
    assert reported.root is not None
    assert reported.root.what == "git commit"

    alone = failed(a_night(8, facts={"parameters": {"batch": "b8x"}}))
    usual = changes_on_card(history_of(nights), alone, VerdictContext(a_verdict()))
    assert usual.root is None


def test_what_changes_now_and_then_comes_after_what_never_did() -> None:
    nights = [
        a_night(n, facts={"host": {"machine": "a" if n % 5 else "b"}})
        for n in range(21)
    ]
    facts = {"host": {"machine": "a"}, "cluster-shape": {"image": "new"}}
    reported = changes_on_card(
        history_of(nights), failed(a_night(21, facts=facts)), VerdictContext()
    )

    assert [each.what for each in reported.changes] == ["image", "machine"]
    assert reported.changes[1].rarity == pytest.approx(0.6, abs=0.1)


def test_a_package_that_the_traceback_names_comes_first() -> None:
    facts = {
        "package/driver": {"pandas": "3.0.0", "attrs": "9"},
        "package/workers": {"pandas": "3.0.0"},
        "package/scheduler": {"pandas": "3.0.0"},
        "code": {"git commit": "d"},
    }
    context = VerdictContext(
        a_verdict(),
        'File "/env/lib/python3.11/site-packages/pandas/core/frame.py", line 1',
    )
    reported = changes_on_card(
        history_of(a_night(n) for n in range(8)),
        failed(a_night(8, facts=facts)),
        context,
    )

    assert (reported.changes[0].what, reported.changes[0].why) == (
        "pandas",
        "the failure names it",
    )
    assert (reported.past.blame, reported.past.confidence) == (
        "infrastructure",
        "medium",
    )


def test_the_code_of_the_prefix_that_failed_comes_first() -> None:
    parts = (a_prefix("load", roots=100), a_prefix("join", code="new"))
    context = VerdictContext(a_verdict(subject=Subject(prefix="join")), "", "join")
    reported = changes_on_card(
        history_of(a_night(n) for n in range(8)),
        failed(
            a_night(8, prefixes=parts, facts={"host": {"orchestrator": "airflow 4"}})
        ),
        context,
    )

    assert reported.changes[0].what == "prefix join"
    assert reported.past.blame == "code"


@pytest.mark.parametrize(
    ("part", "blame", "root"),
    [
        ({"tasks": 99, "failed": 1}, "data", None),
        ({"tasks": 0, "failed": 4}, "infrastructure", "attrs"),
        ({"tasks": 99, "failed": 1, "code": "new"}, "code", "prefix join"),
    ],
    ids=["most finished", "none finished", "its own code changed"],
)
def test_the_data_is_blamed_where_other_tasks_finished_with_the_same_code(
    part: dict[str, Any], blame: str, root: str | None
) -> None:
    parts = (a_prefix("load", roots=100), a_prefix("join", **part))
    packages = {f"package/{role}": {"attrs": "9"} for role in ("driver", "workers")}
    reported = changes_on_card(
        history_of(a_night(n) for n in range(8)),
        failed(a_night(8, prefixes=parts, facts=packages)),
        VerdictContext(a_verdict(subject=Subject(prefix="join")), "", "join"),
    )

    assert reported.past.blame == blame
    assert (reported.root.what if reported.root else None) == root


def test_no_package_explains_a_failure_that_passes() -> None:
    packages = {f"package/{role}": {"attrs": "9"} for role in ("driver", "workers")}
    reported = changes_on_card(
        history_of(a_night(n) for n in range(8)),
        failed(a_night(8, facts=packages)),
        VerdictContext(a_verdict("transient")),
    )

    assert reported.past.blame == "nothing"
    assert "attrs" in reported.past.summary
    assert reported.root is None


def test_a_variable_of_the_environment_is_compared_where_both_runs_recorded_some() -> (
    None
):
    step, zone = ({f"environment {each}": "3"} for each in ("GRID_STEP", "GRID_ZONE"))
    new = {**step, "environment GRID_STEP": "0.5"}

    def changed(before: dict[str, str], after: dict[str, str]) -> list[str]:
        nights = (a_night(n, facts={"parameters": {**each}}) for n, each in
                  ((1, before), (2, after)))  # fmt: skip
        return [what for _, what in whats(*nights)]

    assert changed(step, new) == ["environment GRID_STEP"]
    assert changed(zone, zone | step) == ["environment GRID_STEP"]
    assert changed({}, step) == []  # recorded by an older version


def test_a_memory_verdict_with_more_input_is_blamed_on_the_data() -> None:
    inputs = Inputs(partitions=100, nbytes=41 * GIB)
    reported = changes_on_card(
        history_of(a_night(n) for n in range(30)),
        failed(a_night(30, inputs=inputs)),
        VerdictContext(a_verdict("memory", rule="worker-memory-limit")),
    )

    assert reported.past.blame == "data"
    assert reported.past.summary == (
        "Data: only the input changed: 4.1\N{MULTIPLICATION SIGN} the bytes."
    )
    assert reported.past.confidence == "high"


def test_changes_on_several_sides_are_not_blamed_on_one() -> None:
    facts = {"code": {"git commit": "d"}, "host": {"orchestrator": "airflow 4"}}
    reported = changes_on_card(
        history_of(a_night(n) for n in range(8)),
        failed(a_night(8, facts=facts)),
        VerdictContext(),
    )

    assert (reported.past.blame, reported.past.confidence) == ("several", "low")
    assert reported.root is None


@pytest.mark.parametrize(
    ("advice", "blame"),
    [
        ("code", "code"),
        ("transient", "nothing"),
        ("data", "nothing"),
        ("unknown", "code"),
    ],
)
def test_code_elsewhere_is_not_blamed_for_what_it_does_not_fit(
    advice: RetryAdvice, blame: str
) -> None:
    reported = changes_on_card(
        history_of(a_night(n) for n in range(8)),
        failed(a_night(8, facts={"code": {"callable main": "dddd"}})),
        VerdictContext(a_verdict(advice)),
    )

    assert reported.past.blame == blame
    assert "callable main" in reported.past.summary


def test_a_value_that_the_failure_quotes_outweighs_code_that_it_went_through() -> None:
    facts = {"parameters": {"currency": "CHF"}, "code": {"callable main": "dddd"}}
    traceback = (
        '  File "/jobs/shop.py", line 9, in main\n    return rates[currency]\n'
        "KeyError: 'CHF'\n"
    )
    reported = changes_on_card(
        history_of(a_night(n) for n in range(8)),
        failed(a_night(8, facts=facts)),
        VerdictContext(a_verdict(), traceback),
    )

    assert reported.changes[0].what == "currency"
    assert reported.changes[0].why == "the failure names its value"
    assert reported.past.blame == "data"
    assert reported.past.summary.endswith(
        " → CHF, which fits the verdict; the code changed too."
    )


def test_a_memory_limit_that_the_failure_is_about_outweighs_a_package() -> None:
    facts = {
        "cluster-shape": {"memory limit": "286 MiB"},
        "package/workers": {"pandas": "3.0.0"},
    }
    verdict = a_verdict("memory", title="A worker died at its 286 MiB memory limit")
    reported = changes_on_card(
        history_of(a_night(n) for n in range(8)),
        failed(a_night(8, facts=facts)),
        VerdictContext(verdict, 'File "/v/site-packages/pandas/x.py", line 1, in f\n'),
    )

    assert reported.changes[0].what == "memory limit"


def a_reading_night(number: int, *, files: int, each: int, **fields: Any) -> Sketch:
    peak = a_prefix("peak", roots=5, files=files, read=files * each)
    inputs = Inputs(partitions=5, files=files, read=files * each)
    return a_night(number, prefixes=(peak,), inputs=inputs, **fields)


def test_files_that_the_killed_tasks_read_outweigh_their_code() -> None:
    other = {"code": {"callable main": "bbbb"}}
    reported = changes_on_card(
        history_of(a_reading_night(n, files=5, each=200_000) for n in range(8)),
        failed(a_reading_night(8, files=1, each=1_800_000, facts=other)),
        VerdictContext(a_verdict("memory"), ", line 1, in main\n", prefix="peak"),
    )

    assert [each.what for each in reported.changes] == [
        "bytes of a file",
        "callable main",
    ]
    assert reported.changes[0].why == "the tasks that needed the memory read more"
    assert (reported.past.blame, reported.past.confidence) == ("data", "medium")


def test_files_of_tasks_whose_code_failed_do_not_outweigh_it() -> None:
    other = {"code": {"callable main": "bbbb"}}
    reported = changes_on_card(
        history_of(a_reading_night(n, files=5, each=200_000) for n in range(8)),
        failed(a_reading_night(8, files=5, each=1_800_000, facts=other)),
        VerdictContext(a_verdict("code"), ", line 1, in main\n", prefix="peak"),
    )

    assert reported.changes[0].what == "callable main"
    assert reported.past.blame == "code"


def test_more_threads_outweigh_code_where_memory_was_needed() -> None:
    facts = {
        "cluster-shape": {"threads per worker": "2"},
        "code": {"callable main": "bbbb"},
    }
    one = {"cluster-shape": {"threads per worker": "1"}}
    reported = changes_on_card(
        history_of(a_night(n, facts=one) for n in range(8)),
        failed(a_night(8, facts=facts)),
        VerdictContext(a_verdict("memory"), ", line 1, in main\n"),
    )

    assert reported.changes[0].what == "threads per worker"
    assert reported.changes[0].why == "more tasks share a worker's memory"
    assert reported.past.blame == "infrastructure"


@pytest.mark.parametrize(
    ("files", "each", "changes"),
    [
        (1, 200_000, []),  # the others were still to be opened
        (5, 600_000, ["bytes of files"]),
        (10, 200_000, ["bytes of files", "files"]),
    ],
)
def test_files_that_a_failed_run_did_not_open_are_no_change(
    files: int, each: int, changes: list[str]
) -> None:
    before = a_reading_night(1, files=5, each=200_000)
    after = failed(a_reading_night(2, files=files, each=each))

    found = [what for _, what in whats(before, after) if "file" in what]
    assert found == changes


@pytest.mark.parametrize("roots", [16, 0])
def test_what_tasks_read_themselves_was_not_compared(roots: int) -> None:
    prefixes = (a_prefix("peak", roots=roots, code="2py311.dddd"),)
    reported = changes_on_card(
        history_of(a_night(n) for n in range(8)),
        failed(a_night(8, prefixes=prefixes)),
        VerdictContext(a_verdict("memory"), prefix="peak"),
    )

    unmeasured = "(the input could not be compared)" in reported.past.summary
    assert unmeasured == (reported.past.confidence == "low") == bool(roots)


def test_where_nothing_changed_it_says_so() -> None:
    reported = changes_on_card(
        history_of(a_night(n) for n in range(8)),
        failed(a_night(8)),
        VerdictContext(a_verdict()),
    )

    assert reported.changes == ()
    assert reported.past.blame == "nothing"


def test_the_first_run_of_a_job_has_nothing_to_be_compared_with() -> None:
    reported = changes_on_card(
        History(), failed(a_night(1)), VerdictContext(a_verdict())
    )

    assert reported.changes == ()
    assert reported.past.summary == "This is the first recorded run of this job."


def test_a_job_that_always_fails_is_compared_with_none() -> None:
    nights = [failed(a_night(n)) for n in range(5)]
    last = failed(a_night(5, facts={"code": {"git commit": "d"}}))
    reported = changes_on_card(history_of(nights), last, VerdictContext(a_verdict()))

    assert reported.changes == ()
    assert reported.past.last_good is None
    assert "No earlier run of this job succeeded" in reported.past.summary
    assert reported.past.recurrence is not None
    assert (reported.past.recurrence.times, reported.past.recurrence.in_a_row) == (6, 6)


def test_what_came_with_a_failure_stays_rare_while_it_fails() -> None:
    facts = {"package/driver": {"pandas": "3.0.0"}}
    nights = [a_night(n) for n in range(6)]
    nights += [failed(a_night(n, facts=facts)) for n in range(6, 12)]
    reported = changes_on_card(
        history_of(nights),
        failed(a_night(12, facts=facts)),
        VerdictContext(a_verdict()),
    )

    assert [(each.what, each.rarity) for each in reported.changes] == [
        ("pandas (driver)", 1.0)
    ]


def test_a_regular_run_is_not_compared_with_a_backfill() -> None:
    backfill = a_night(7, run_id="backfill__2024-01-01", inputs=Inputs(nbytes=GIB))
    history = history_of([*(a_night(n) for n in range(7)), backfill])

    assert history.last_good_for("scheduled__x").run_id == "run-6"  # type: ignore[union-attr]
    assert history.last_good_for("backfill__y").run_id == backfill.run_id  # type: ignore[union-attr]


def test_failures_of_the_same_kind_are_counted_by_runs() -> None:
    nights = [
        failed(a_night(0)),
        a_night(1),
        failed(a_night(2)),
        failed(a_night(3), "e"),
    ]
    seen = seen_before(failed(a_night(4)), history_of(nights).names)

    assert seen is not None
    assert (seen.times, seen.in_a_row) == (3, 1)
    assert (seen.first, seen.last) == (a_night(0).started, a_night(2).started)


def test_changes_of_a_successful_run_are_listed_and_not_blamed() -> None:
    history = history_of([a_night(1)])
    inputs = Inputs(partitions=3167, nbytes=10 * GIB)
    wide = tuple(
        a_prefix(name, planned=3167, roots=3167 * (name == "load"))
        for name in ("load", "join")
    )
    now = a_night(2, inputs=inputs, prefixes=wide)
    reported = changes_on_card(history, now, VerdictContext(), blames=False)

    assert [(e.what, e.before, e.after) for e in reported.changes] == [
        ("partitions", "100 partitions", "3,167 partitions")
    ]
    assert reported.past.summary == "Changed: 31\N{MULTIPLICATION SIGN} the partitions."
    assert (reported.past.blame, reported.past.confidence) == ("data", "high")


def test_a_run_that_succeeded_as_it_did_before_reports_nothing_about_changes() -> None:
    reported = changes_on_card(
        history_of([a_night(1)]), a_night(2), VerdictContext(), blames=False
    )

    assert (reported.changes, reported.past.summary, reported.past.last_good) == (
        (),
        "",
        None,
    )


def test_a_commit_of_something_else_explains_nothing() -> None:
    module = {"module job": "2py311.aaaa"}
    nights = [a_night(n, facts={"code": module}) for n in range(6)]
    reported = changes_on_card(
        history_of(nights),
        failed(a_night(6, facts={"code": module | {"git commit": "decade"}})),
        VerdictContext(a_verdict()),
    )

    assert [each.why for each in reported.changes] == ["the code that ran is the same"]
    assert reported.past.blame == "nothing"
    assert reported.past.summary == (
        "Only git commit changed; the code that ran is the same."
    )


def test_code_that_changed_is_named_and_not_its_commit() -> None:
    nights = [a_night(n, facts={"code": {"module job": "2py311.a"}}) for n in range(6)]
    facts = {"code": {"module job": "2py311.b", "git commit": "decade"}}
    reported = changes_on_card(
        history_of(nights), failed(a_night(6, facts=facts)), VerdictContext(a_verdict())
    )

    assert [each.what for each in reported.changes] == ["module job", "git commit"]
    assert reported.past.summary == ("Code: only the code changed: module job.")


def test_code_that_no_task_runs_is_a_guess_where_the_tasks_run_what_they_ran() -> None:
    parts = (a_prefix("join", code="2py311.j"),)

    def night(number: int, module: str) -> Sketch:
        return a_night(
            number, prefixes=parts, facts={"code": {"module job": f"2py311.{module}"}}
        )

    reported = changes_on_card(
        history_of(night(n, "a") for n in range(8)),
        failed(night(8, "b")),
        VerdictContext(a_verdict(), prefix="join"),
    )

    assert (reported.past.blame, reported.past.confidence) == ("code", "low")
    assert "the tasks that failed run the same code as before" in reported.past.summary


def test_a_change_elsewhere_in_a_module_is_not_blamed_for_the_failing_task() -> None:
    def night(number: int, module: str, other: str) -> Sketch:
        parts = (a_prefix("join"), a_prefix("scale", code=other))
        facts = {"code": {"module job": module}}
        return a_night(number, prefixes=parts, facts=facts)

    context = VerdictContext(
        a_verdict(subject=Subject(prefix="join")),
        'File "/jobs/job.py", line 7, in join',
        "join",
    )
    reported = changes_on_card(
        history_of(night(n, "2py311.aaaa", "2py311.bbbb") for n in range(6)),
        failed(night(6, "2py311.cccc", "2py311.dddd")),
        context,
    )

    assert [(each.what, each.why) for each in reported.changes] == [
        ("prefix scale", "it fits task-exception"),
        ("module job", "it fits task-exception"),
    ]
    assert reported.past.summary == (
        "Code: only the code changed: prefix scale and module job."
    )


def test_code_of_another_python_is_not_compared_and_that_is_reported() -> None:
    def night(number: int, version: str) -> Sketch:
        mark = f"2py{version.replace('.', '')}.{version}"
        pythons = dict.fromkeys(("driver", "scheduler", "workers"), version)
        return a_night(
            number,
            prefixes=(a_prefix("load", roots=100, code=mark),),
            facts={"python": pythons, "code": {"module job": mark}},
        )

    reported = changes_on_card(
        history_of(night(n, "3.11") for n in range(6)),
        failed(night(6, "3.12")),
        VerdictContext(a_verdict("environment")),
    )

    assert [each.what for each in reported.changes] == ["Python"]
    assert "the code could not be compared" in reported.past.summary


def test_hashes_of_an_older_kind_are_not_taken_for_other_code() -> None:
    nights = [a_night(n, facts={"code": {"module job": "aaaa"}}) for n in range(6)]
    reported = changes_on_card(
        history_of(nights),
        failed(a_night(6, facts={"code": {"module job": "2py311.bbbb"}})),
        VerdictContext(a_verdict()),
    )

    assert reported.changes == ()
    assert reported.past.summary == (
        "Only `day` changed: 2026-10-06 → 2026-10-07 (the code could not be compared)."
    )


def test_what_a_run_that_stopped_early_did_not_come_to_has_not_changed() -> None:
    early = failed(
        a_night(
            2,
            graphs=1,
            prefixes=a_night(2).prefixes[:1],
            inputs=Inputs(partitions=40, nbytes=4 * GIB),
        )
    )
    whole = a_night(1, graphs=3)

    assert whats(whole, early) == []
    assert whats(early, whole) == []


def test_a_package_of_roles_that_nobody_asked_in_time_is_of_all_roles() -> None:
    short = a_night(2, facts={"package/driver": {"shop": "2.0.0"}})
    short = msgspec.structs.replace(
        short, unknown=("package/workers/others", "package/scheduler/others")
    )
    roles = ("driver", "scheduler", "workers")
    before = a_night(1, facts={f"package/{role}": {"shop": "1.0.0"} for role in roles})

    assert whats(before, short) == [("package", "shop")]


def test_graphs_that_follow_the_partitions_are_no_change() -> None:
    wide = a_night(2, graphs=24, inputs=Inputs(partitions=300, nbytes=10 * GIB))
    what = {what for _, what in whats(a_night(1, graphs=16), wide)}

    assert "graphs" not in what


def test_an_empty_input_is_reported_in_sizes() -> None:
    reported = changes_on_card(
        history_of(a_night(n) for n in range(6)),
        failed(a_night(6, inputs=Inputs(partitions=100, nbytes=224))),
        VerdictContext(a_verdict("data")),
    )

    assert reported.past.summary.endswith(
        "the input changed: bytes 10 GiB → 224 bytes."
    )


def test_a_date_that_is_all_that_changed_is_said() -> None:
    nights = history_of(a_night(n) for n in range(6))
    verdict = VerdictContext(a_verdict())

    other_day = changes_on_card(nights, failed(a_night(6)), verdict)
    assert other_day.past.summary == "Only `day` changed: 2026-10-06 → 2026-10-07."
    assert other_day.changes == ()
    same = {"parameters": {"day": "2026-10-06"}}
    same_day = changes_on_card(nights, failed(a_night(6, facts=same)), verdict)
    assert same_day.past.summary.startswith("Nothing in the recording changed")
    limit = {"parameters": {"limit": "500"}}
    more = changes_on_card(nights, failed(a_night(6, facts=limit)), verdict)
    assert "day" not in more.past.summary
