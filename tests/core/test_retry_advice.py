"""Whether a retry helps: a fact of its own, with a confidence of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from dask_blackbox import Run, RunCard
from dask_blackbox.analyse import Case, History, findings_in, verdict_of
from dask_blackbox.analyse.retry_advice import (
    advice_on,
    advice_on_class,
    advice_on_text,
)
from dask_blackbox.analyse.sketching import sketch_of
from dask_blackbox.card import reason_against_retry, reason_for_retry
from dask_blackbox.finding import Finding
from dask_blackbox.run_tables import RunTables
from dask_blackbox.sketch import Sketch
from runs_from_rows import (
    a_failed_task,
    a_graph,
    a_run,
    a_task,
    a_worker,
    an_event,
    an_exception,
    failed_with,
)
from scenario_runs import SCENARIOS, Home, begin_command, ended
from sketches import DAY, a_night, failed, name_of

pytestmark = pytest.mark.processes

# What the class says


class UpstreamNotReady(ValueError):  # noqa: N818 - so users call theirs
    pass


class Odd(Exception):  # noqa: N818
    pass


class WrongCall(TypeError):  # noqa: N818
    pass


@pytest.mark.parametrize(
    ("error", "advice", "confidence"),
    [
        # A closed list of programming errors, and what derives from them.
        (TypeError("f() missing 1 argument"), "code", "high"),
        (UnboundLocalError("x"), "code", "high"),
        (AttributeError("no x"), "code", "high"),
        (IndentationError("unexpected indent"), "code", "high"),
        (ZeroDivisionError("division by zero"), "code", "high"),
        (WrongCall("two of three"), "code", "high"),
        (ModuleNotFoundError("no module named 'x'"), "environment", "high"),
        # What the same input raises again: the input may be another one a minute later.
        (ValueError("it is wrong"), "code", "medium"),
        (AssertionError(), "code", "medium"),
        (IndexError("list index out of range"), "code", "medium"),
        (KeyError("amount"), "data", "medium"),
        (FileNotFoundError("today.csv"), "data", "medium"),
        (UnicodeDecodeError("utf-8", b"\xe9", 0, 1, "no"), "data", "medium"),
        (PermissionError("denied"), "environment", "medium"),
        (OSError(28, "No space left on device"), "environment", "medium"),
        (OSError(37, "No locks available"), "environment", "medium"),
        (
            OSError(107, "Transport endpoint is not connected", "/mnt/x.csv"),
            "environment",
            "medium",
        ),
        (OSError(116, "Stale file handle", "/scratch/x"), "unknown", "low"),
        (
            RuntimeError(
                "cannot cache function 'f': no locator available for file 'x.py'"
            ),
            "environment",
            "medium",
        ),
        (MemoryError(), "memory", "high"),
        # What passes.
        (ConnectionResetError("gone"), "transient", "medium"),
        (
            RuntimeError("(SlowDown) Please reduce your request rate."),
            "transient",
            "medium",
        ),
        (TimeoutError("5 s"), "transient", "medium"),
        (UpstreamNotReady("not today"), "transient", "medium"),
        # Nothing is known.
        (Odd("strange"), "unknown", "low"),
        (RuntimeError("strange"), "unknown", "low"),
        (OSError("strange"), "unknown", "low"),
        (ValueError("503 from upstream"), "unknown", "low"),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, Exception) else None,
)
def test_the_advice_on_a_class(error: Exception, advice: str, confidence: str) -> None:
    assert advice_on(error) == (advice, confidence)


@pytest.mark.parametrize(
    "name",
    [
        "openai.RateLimitError",
        "shop.client.RateLimitExceeded",
        "openai.APITimeoutError",
        "openai.APIConnectionError",
        "httpx.PoolTimeout",
        "psycopg_pool.PoolTimeout",
        "psycopg2.pool.PoolError",
        "psycopg2.errors.DeadlockDetected",
        "google.api_core.exceptions.ServiceUnavailable",
        "shop.UpstreamNotReady",
        "kafka.errors.LeaderNotAvailableConnectionError",
        "distributed.comm.core.CommClosedError",
        "urllib3.exceptions.IncompleteRead",
    ],
)
def test_a_class_that_is_named_like_what_passes_is_transient(name: str) -> None:
    assert advice_on_class(name) == ("transient", "medium")


@pytest.mark.parametrize(
    "name", ["shop.PricingError", "shop.Timeouts", "requests.exceptions.InvalidURL"]
)
def test_a_class_that_nobody_knows_is_unknown(name: str) -> None:
    assert advice_on_class(name) == ("unknown", "low")


def test_what_a_class_derives_from_says_what_its_name_does_not() -> None:
    line = ["pyarrow.lib.ArrowException", "TypeError", "Exception", "BaseException"]
    assert advice_on_class("pyarrow.lib.ArrowOddity", line) == ("code", "high")
    # Arrow means the types of the data by it, not of the arguments.
    assert advice_on_class("pyarrow.lib.ArrowTypeError", line) == ("data", "medium")

    line = ["shop.Gone", "ConnectionError", "OSError", "Exception", "BaseException"]
    assert advice_on_class("shop.Hungup", line) == ("transient", "medium")

    # A class of the user's own that is a ValueError need not mean what ValueError does.
    line = ["ValueError", "Exception", "BaseException"]
    assert advice_on_class("shop.PricingError", line) == ("unknown", "low")


def test_a_word_in_the_message_does_not_excuse_a_programming_error() -> None:
    message = "fetch() got an unexpected keyword argument 'retry'"
    assert advice_on_text("TypeError", message) == ("code", "high")


@pytest.mark.parametrize(
    "message",
    [
        "An error occurred (AccessDenied) when calling the PutObject operation: Denied",
        "[Errno 27] Error writing bytes to file. Detail: [errno 27] File too large",
    ],
)
def test_what_roles_and_limits_refuse_is_of_the_environment(message: str) -> None:
    assert advice_on_text("OSError", message) == ("environment", "medium")


# What a verdict makes of it


def failing(
    name: str, *more: Any, bases: str | None = None, **fields: Any
) -> RunTables:
    """Return a run that ends with an exception of one of its tasks."""
    return a_run(
        a_worker(),
        a_graph(),
        a_failed_task("load-1", name, "it is wrong", bases=bases, **fields),
        *more,
        failed_with(an_exception(name, "it is wrong")),
    )


def verdict(run: RunTables, history: History | None = None) -> Finding:
    found = verdict_of(findings_in(run, history=history), run)
    assert found is not None
    return found


def advice(run: RunTables, history: History | None = None) -> tuple[str, str]:
    found = verdict(run, history)
    return found.retry_advice, found.retry_confidence


def test_the_advice_is_no_surer_than_the_verdict() -> None:
    # The driver's exit code does not prove that the task's error ended it.
    unproven = failing("TypeError")
    assert unproven.ending is not None
    ending = msgspec.structs.replace(unproven.ending, exception=None, exit_code=1)
    run = a_run(a_worker(), a_failed_task("load-1", "TypeError"), ("ending", ending))

    assert verdict(run).confidence == "medium"
    assert advice(run) == ("code", "medium")
    assert advice(failing("TypeError")) == ("code", "high")


def test_the_recorded_bases_decide_for_tasks_and_for_the_driver() -> None:
    bases = "TypeError, Exception, BaseException"
    assert advice(failing("shop.WrongCall", bases=bases)) == ("code", "high")

    error = an_exception("shop.WrongCall", "it is wrong")
    error = msgspec.structs.replace(error, bases=tuple(bases.split(", ")))
    run = a_run(a_worker(), a_graph(), failed_with(error))
    assert advice(run) == ("code", "high")


def test_what_an_unknown_class_was_raised_from_is_not_sure() -> None:
    link = (
        "\n\nThe above exception was the direct cause of the following exception:\n\n"
    )
    text = f"Traceback (most recent call last):\nTypeError: no\n{link}shop.Odd: it is wrong"
    assert advice(failing("shop.Odd", traceback=text)) == ("code", "medium")


def card(advice: Any, confidence: Any, *, sure: Any = "high") -> RunCard:
    found = Finding(
        rule="task-exception", title="", cause="", remedy="", severity="failure",
        confidence=sure, retry_advice=advice, retry_confidence=confidence,
    )  # fmt: skip
    return RunCard(job="j", run_id="r", state="failed", headline="no", verdict=found)


@pytest.mark.parametrize("advice", ["code", "data", "environment"])
def test_only_advice_of_high_confidence_stops_retries(advice: str) -> None:
    assert reason_against_retry(card(advice, "high")) == f"{advice}: no"
    assert reason_against_retry(card(advice, "high", sure="medium")) == f"{advice}: no"
    assert reason_against_retry(card(advice, "medium")) is None
    assert reason_against_retry(card(advice, "low")) is None


def test_advice_that_stops_nothing() -> None:
    assert reason_against_retry(card("transient", "high")) is None
    assert reason_against_retry(card("unknown", "high")) is None
    assert reason_for_retry(card("transient", "medium")) == "transient: no"
    assert reason_for_retry(card("transient", "low")) is None
    assert reason_for_retry(card("unknown", "high")) is None


def test_a_card_of_before_there_was_such_a_confidence_stops_nothing() -> None:
    reported = msgspec.json.decode(card("code", "high").to_json())
    del reported["verdict"]["retry_confidence"]

    assert (
        reason_against_retry(RunCard.from_json(msgspec.json.encode(reported))) is None
    )


# What retries did before


def kind_of(run: RunTables) -> str:
    """Return the fingerprint of a run's failure."""
    fingerprint = sketch_of(Case(run), verdict(run)).fingerprint
    assert fingerprint is not None
    return fingerprint.id


def night(number: int, attempt: int, kind: str | None) -> Sketch:
    """Return an attempt of a night's run; without a kind of failure, it succeeded."""
    started = a_night(number).started + 60 * attempt
    each = a_night(number, attempt=attempt, started=started)
    return each if kind is None else failed(each, kind)


def attempts(*nights: list[str | None]) -> History:
    """Return the history of nights, each with the kinds of its attempts' failures."""
    return History(
        attempts=tuple(
            name_of(night(number, attempt, kind))
            for number, tries in enumerate(nights, 1)
            for attempt, kind in enumerate(tries, 1)
        )
    )


def test_a_failure_that_a_retry_cured_before_is_transient() -> None:
    odd = failing("shop.Odd")
    kind = kind_of(odd)

    assert advice(odd) == ("unknown", "low")
    assert advice(odd, attempts([kind, None])) == ("transient", "medium")
    assert advice(odd, attempts([kind, None], [kind, None])) == ("transient", "high")
    assert "Earlier, a retry succeeded after this failure 2 times." in [
        each.text
        for each in verdict(odd, attempts([kind, None], [kind, None])).evidence
    ]
    # Even of a programming error: it was none.
    wrong = failing("TypeError")
    assert advice(wrong, attempts([kind_of(wrong), None])) == ("transient", "medium")
    # Another kind of failure says nothing of this one.
    assert advice(odd, attempts(["e" * 12, None])) == ("unknown", "low")


def test_tasks_that_their_host_gave_up_are_none_that_a_retry_cured() -> None:
    run = failing(
        "shop.Odd",
        # To Dask they finished, as they returned the host's state of failure.
        a_task("load-1"),
        a_task("poll-1"),
        an_event("task-retries", "load-1", retries=1),
        an_event("task-timed-out", "poll-1", limit=2.0, setting="timeout_seconds"),
    )

    found = verdict(run)

    assert found.retry_advice == "code"
    assert not [each for each in found.evidence if each.source == "history"]


def test_that_this_attempt_is_a_retry_itself_is_told_apart_from_earlier_ones() -> None:
    odd = failing("shop.Odd")
    first = name_of(night(1, 1, kind_of(odd)))

    found = verdict(odd, History(tries=(first,)))

    assert [each.text for each in found.evidence if each.source == "history"] == [
        "This attempt is a retry, and failed in the same way as the one before."
    ]
    assert found.retry_advice == "code"


def test_a_failure_that_retries_never_cured_stops_them() -> None:
    odd = failing("shop.Odd")
    kind = kind_of(odd)

    assert advice(odd, attempts([kind, kind])) == ("code", "medium")
    thrice = attempts([kind, kind, kind], [kind, kind])
    assert advice(odd, thrice) == ("code", "high")
    # One that was cured once, and was not thrice, is neither.
    mixed = attempts([kind, kind, kind], [kind, kind], [kind, None])
    assert advice(odd, mixed) == ("transient", "low")

    late = failing("FileNotFoundError")
    kind = kind_of(late)
    assert advice(late) == ("data", "medium")
    assert advice(late, attempts([kind] * 4)) == ("data", "high")


def test_what_more_memory_cured_still_needs_more_memory() -> None:
    short = failing("MemoryError")
    kind = kind_of(short)

    assert advice(short, attempts([kind, None], [kind, None]))[0] == "memory"


def rerun(kind: str, minutes: float, **facts: Any) -> History:
    """Return a failed run and a good one that began so long after its end."""
    before = failed(a_night(1, facts=facts), kind)
    started = before.started + 600.0 + 60 * minutes
    day = {"parameters": {"day": before.facts["parameters"]["day"]}}
    after = a_night(2, started=started, facts=day)
    return History(sketches=(after, before))


def test_the_same_run_started_again_by_hand_is_a_retry() -> None:
    odd = failing("shop.Odd")
    kind = kind_of(odd)

    assert advice(odd, rerun(kind, 1)) == ("transient", "medium")
    assert advice(odd, rerun(kind, DAY / 60)) == ("unknown", "low")
    repaired = rerun(kind, 1, code={"callable main": "bbbb"})
    assert advice(odd, repaired) == ("unknown", "low")


@pytest.mark.parametrize("other", ["2026-11-24", "2026-11-23T00:00:00+00:00"])
def test_the_next_day_of_a_backfill_is_no_retry(other: str) -> None:
    odd = failing("shop.Odd")
    kind = kind_of(odd)
    same, day = rerun(kind, 1), {"parameters": {"day": other}}
    after, before = same.sketches
    backfill = History(
        sketches=(msgspec.structs.replace(after, facts=after.facts | day), before)
    )

    assert advice(odd, same) == ("transient", "medium")
    assert advice(odd, backfill) == ("unknown", "low")


def test_tasks_of_this_run_that_a_retry_cured_count() -> None:
    odd = failing(
        "shop.Odd",
        a_failed_task("load-2", "shop.Odd", outcome="retried", at=3),
        a_task("load-2", start=4),
    )

    assert advice(odd) == ("transient", "medium")
    assert verdict(odd).evidence[-1].text == (
        "In this run, 1 task raised the same exception and succeeded on a retry."
    )


@pytest.mark.nightly
def test_a_rerun_that_succeeded_makes_the_next_failure_transient(
    homes: Callable[[], Home],
) -> None:
    home = homes()
    delivery = home.folder / "delivery"

    def card_of_a_run(code: int) -> RunCard:
        words = ["blackbox", "run", "--store", str(home.folder / "store")]
        words += ["--card", str(home.folder / "card.json"), "--"]
        words += [sys.executable, str(SCENARIOS / "upstream.py"), str(delivery)]
        finished = ended(home, begin_command(home, *words))
        assert finished.code == code, finished.errors
        return RunCard.from_json((home.folder / "card.json").read_bytes())

    first = card_of_a_run(1)
    assert first.verdict is not None
    assert first.verdict.rule == "task-exception"
    assert (first.verdict.retry_advice, first.verdict.retry_confidence) == (
        "unknown",
        "low",
    )
    run = Run.open(first.links["recording"])
    bases = "LookupError, Exception, BaseException"
    assert run.errors["bases"].to_list() == [bases]
    assert run.ending is not None
    assert run.ending.exception is not None
    assert ", ".join(run.ending.exception.bases) == bases

    delivery.write_text("here")
    assert card_of_a_run(0).verdict is None
    delivery.unlink()
    again = card_of_a_run(1)
    assert again.verdict is not None
    assert (again.verdict.retry_advice, again.verdict.retry_confidence) == (
        "transient",
        "medium",
    )
    assert reason_against_retry(again) is None
