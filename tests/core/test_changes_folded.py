"""What follows from another change stands under it: code under its package, and so on."""

from __future__ import annotations

from typing import Any

import pytest
from dask._task_spec import Task
from dask_blackbox.analyse.changes import CardChanges, changes_on_card
from dask_blackbox.analyse.changes.ranking import VerdictContext
from dask_blackbox.capture.scheduler.code_hashes import CodeMarks
from dask_blackbox.cli.compare import comparison_text
from dask_blackbox.finding import Finding, Subject
from dask_blackbox.reader.comparison import comparison_of
from dask_blackbox.sketch import Inputs, PrefixSketch, Sketch
from sketches import GIB, a_night, a_prefix, failed, history_of

JOB = "2py311.job"
SHOP = {"shop:clean": "shop.py:2 11", "job:tidy": "job.py:9 22"}


class Graph:
    """What the scheduler knows of a task, as far as it is asked here."""

    def __init__(self, function: Any) -> None:
        self.run_spec = Task("a", function)


def verdict(prefix: str = "tidy") -> Finding:
    return Finding(
        rule="task-exception",
        title=f"ValueError in '{prefix}'",
        cause="It raised.",
        severity="failure",
        confidence="high",
        remedy="Fix it.",
        retry_advice="code",
        subject=Subject(prefix=prefix),
    )


def tidy(**fields: Any) -> PrefixSketch:
    reported = {"code": "2py311.a", "functions": ("job:tidy", "shop:clean")} | fields
    return a_prefix("tidy", **reported)


def night(number: int, version: str | None, **fields: Any) -> Sketch:
    reported: dict[str, Any] = {
        "prefixes": (a_prefix("load", roots=100), tidy(), tidy_too()),
        "parts": SHOP,
    } | fields
    packages = {} if version is None else {"shop": version}
    roles = ("driver", "scheduler", "workers")
    facts = {f"package/{role}": packages for role in roles}
    facts["code"] = {
        "module job": JOB,
        "module shop": f"2py311.v{version}".replace(".0", ""),
    }
    if version is None:
        del facts["code"]["module shop"]
    return a_night(number, facts=facts | reported.pop("facts", {}), **reported)


def tidy_too(**fields: Any) -> PrefixSketch:
    reported = {"code": "2py311.b", "functions": ("shop:clean",)} | fields
    return a_prefix("clean", **reported)


def card_changes(
    before: Sketch, after: Sketch, context: VerdictContext | None = None
) -> CardChanges:
    return changes_on_card(
        history_of([before]), failed(after), context or VerdictContext(verdict())
    )


def folded(reported: CardChanges) -> list[tuple[str, list[str]]]:
    return [(e.what, sorted(o.what for o in e.explains)) for e in reported.changes]


def test_a_package_explains_the_code_inside_it_and_in_all_that_call_it() -> None:
    parts = SHOP | {"shop:clean": "shop.py:2 99"}
    prefixes = (
        a_prefix("load", roots=100),
        tidy(code="2py311.aa"),
        tidy_too(code="2py311.bb"),
    )
    after = night(2, "2.0", parts=parts, prefixes=prefixes)
    found = card_changes(night(1, "1.0"), after, VerdictContext(verdict(), "", "tidy"))

    assert folded(found) == [
        ("shop", ["module shop", "prefix clean", "prefix tidy"]),
    ]
    assert found.changes[0].why == "the failure went through it"
    assert found.past.summary == (
        "Infrastructure: only packages changed: shop 1.0 → 2.0."
    )


def test_a_package_that_was_removed_explains_what_is_called_in_its_place() -> None:
    prefixes = (
        a_prefix("load", roots=100),
        tidy(code="2py311.aa", functions=("job:tidy", "job:clean")),
        tidy_too(code="2py311.bb", functions=("job:clean",)),
    )
    after = night(2, None, prefixes=prefixes)
    found = card_changes(night(1, "1.0"), after)

    assert folded(found) == [("shop", ["prefix clean", "prefix tidy"])]
    assert (found.changes[0].before, found.changes[0].after) == ("1.0", None)


def test_a_function_of_ones_own_that_changed_too_is_not_the_packages() -> None:
    parts = {"shop:clean": "shop.py:2 99", "job:tidy": "job.py:9 33"}
    prefixes = (a_prefix("load", roots=100), tidy(code="2py311.aa"), tidy_too())
    after = night(2, "2.0", parts=parts, prefixes=prefixes)
    found = card_changes(night(1, "1.0"), after, VerdictContext(verdict(), "", "tidy"))

    assert folded(found) == [("prefix tidy", []), ("shop", ["module shop"])]


def test_a_prefix_that_calls_an_installed_library_is_explained_by_it() -> None:
    old = a_prefix("fit", code="2py311.a", libraries=("sklearn",))
    new = a_prefix("fit", code="2py311.b", libraries=("sklearn",))
    one, other = ({"package/workers": {"scikit-learn": v}} for v in ("1.4", "1.5"))
    before = night(1, "1.0", prefixes=(old,), facts=one)
    after = night(2, "1.0", prefixes=(new,), facts=other)

    assert folded(card_changes(before, after)) == [("scikit-learn", ["prefix fit"])]


@pytest.mark.parametrize(
    ("dirty", "found"),
    [
        ("no", [("git commit", ["module job", "prefix tidy"])]),
        ("yes", [("prefix tidy", []), ("module job", []), ("git commit", [])]),
    ],
    ids=["all is committed", "some is not"],
)
def test_a_commit_explains_the_functions_that_it_changed(
    dirty: str, found: list[tuple[str, list[str]]]
) -> None:
    def at(number: int, commit: str, **fields: Any) -> Sketch:
        code = {"git commit": commit, "uncommitted changes": dirty}
        mark = f"2py311.{commit}"
        facts = {"code": code | {"module job": mark}}
        parts = {"job:tidy": f"job.py:9 {commit}"}
        prefix = tidy(code=mark, functions=("job:tidy",))
        return a_night(number, facts=facts, parts=parts, prefixes=(prefix,))

    changes = card_changes(
        at(1, "aaaa"), at(2, "bbbb"), VerdictContext(verdict(), "", "tidy")
    )

    assert folded(changes) == found
    assert changes.past.summary.startswith(
        "Code: only the code changed: prefix tidy (tidy at job.py:9)"
    )


def test_another_python_explains_the_packages_that_came_with_it() -> None:
    new = {"python": {"workers": "3.12.1"}, "package/workers": {"pandas": "3.0"}}

    assert folded(card_changes(a_night(1), a_night(2, facts=new))) == [
        ("Python of the workers", ["pandas (workers)"])
    ]


def test_a_parameter_explains_the_size_that_it_asks_for_and_no_other() -> None:
    before = a_night(
        1,
        facts={"parameters": {"--parts": "12", "--rate": "3"}},
        inputs=Inputs(partitions=12, nbytes=GIB),
    )
    after = a_night(
        2,
        facts={"parameters": {"--parts": "380", "--rate": "4"}},
        inputs=Inputs(partitions=380, nbytes=5 * GIB),
    )
    found = dict(folded(card_changes(before, after)))

    assert found["--parts"] == ["partitions"]
    assert found["--rate"] == []
    assert found["bytes"] == []


@pytest.mark.parametrize(
    ("nbytes", "explained"),
    [(54 * GIB, ["partitions", "bytes"]), (3 * GIB, ["partitions"])],
)
def test_a_smaller_block_explains_more_partitions_and_bytes_that_follow_them(
    nbytes: int, explained: list[str]
) -> None:
    before = a_night(
        1,
        facts={"parameters": {"BLOCK_ROWS": "20000"}},
        inputs=Inputs(partitions=9, nbytes=GIB),
    )
    after = a_night(
        2,
        facts={"parameters": {"BLOCK_ROWS": "300"}},
        inputs=Inputs(partitions=536, nbytes=nbytes),
    )

    found = dict(folded(card_changes(before, after)))
    assert sorted(found["BLOCK_ROWS"]) == sorted(explained)


def captured(source: str, least: int, number: int, **facts: Any) -> Sketch:
    """Return a night whose task is a closure over a number, as capture tells it."""
    scope: dict[str, Any] = {"__name__": "job"}
    exec(compile(source, "/jobs/job.py", "exec"), scope)
    marks = CodeMarks().fields({"tidy": Graph(scope["tidy"](least))})
    fields: dict[str, Any] = {
        "code": marks["code"]["tidy"],
        "code_without_values": marks["code_without_values"]["tidy"],
        "values": marks["values"]["tidy"],
        "functions": tuple(marks["functions"]["tidy"]),
    }
    digest = len(source)
    return a_night(
        number,
        prefixes=(a_prefix("tidy", **fields),),
        facts={"code": {"module job": JOB}} | facts,
        parts={"job:tidy": f"job.py:1 {digest}"},
    )


CLOSURE = "def tidy(least):\n    def work(rows):\n        return rows[least]\n    return work\n"


def test_a_value_that_a_function_captured_is_a_parameter_and_no_code() -> None:
    before, after = captured(CLOSURE, 3, 1), captured(CLOSURE, 4, 2)
    found = card_changes(before, after, VerdictContext(verdict(), "", "tidy"))
    [change] = found.changes

    assert (change.kind, change.what) == (
        "parameters",
        "least (given to job:tidy.<locals>.work)",
    )
    assert (change.before, change.after) == ("3", "4")
    assert change.why == "the tasks that failed were given it"
    assert found.past.blame == "data"


def test_a_global_is_called_by_its_module() -> None:
    source = "LEAST = {}\ndef tidy(least):\n    return lambda rows: rows[LEAST]\n"
    before, after = (captured(source.format(n), n, n) for n in (3, 4))

    [change] = card_changes(before, after).changes

    assert change.what == "LEAST (global of job)"


def test_a_parameter_of_the_run_explains_the_value_that_a_function_captured() -> None:
    asked = [{"parameters": {"--least": value}} for value in ("3", "4")]
    before, after = (
        captured(CLOSURE, n, n, **facts) for n, facts in zip((3, 4), asked, strict=True)
    )

    assert folded(card_changes(before, after)) == [
        ("--least", ["least (given to job:tidy.<locals>.work)"])
    ]


def test_where_the_functions_changed_too_it_is_the_code() -> None:
    edited = CLOSURE.replace("rows[least]", "rows[: least]")
    found = card_changes(captured(CLOSURE, 3, 1), captured(edited, 4, 2))

    assert [(each.kind, each.what) for each in found.changes] == [
        ("code", "prefix tidy")
    ]


def test_values_that_are_no_numbers_are_recorded_as_digests() -> None:
    scope: dict[str, Any] = {"__name__": "job"}
    exec(compile(CLOSURE, "/jobs/job.py", "exec"), scope)
    [value] = (
        CodeMarks()
        .fields({"tidy": Graph(scope["tidy"]("swordfish"))})["values"]["tidy"]
        .values()
    )

    assert value.startswith("#")
    assert "swordfish" not in value


def test_a_comparison_shows_what_is_explained_under_its_cause() -> None:
    parts = SHOP | {"shop:clean": "shop.py:2 99"}
    after = night(2, "2.0", parts=parts, prefixes=(tidy(code="2py311.aa"),))
    before = night(1, "1.0", prefixes=(tidy(),))
    lines = comparison_text(comparison_of(before, after), width=160).splitlines()
    [cause] = [n for n, line in enumerate(lines) if "package shop:" in line]

    assert "explains code prefix tidy: a → aa (clean at shop.py:2)" in lines[cause + 1]
    assert "explains code module shop" in lines[cause + 2]
