"""What is shown of a submitted task: what it was called with, and why it was lost."""

from __future__ import annotations

from uuid import uuid4

import pytest
from dask_blackbox import RunCard
from dask_blackbox.capture.redaction import Redaction
from dask_blackbox.finding import Cost, Finding, Subject
from prefect import task
from prefect_dask_blackbox.final_states import error_line
from prefect_dask_blackbox.lost_tasks import finding_about
from prefect_dask_blackbox.submitted_tasks import (
    SomeTasks,
    SubmittedTask,
    in_short,
    without_name,
)


@pytest.mark.parametrize(
    "value",
    [
        "postgresql://etl:hunter2secret@db/prod",
        f"postgresql://etl:hunter2secret{'x' * 60}@db/prod",
        "the token is hunter2secret",
    ],
)
def test_a_parameter_is_shown_without_secrets(value: str) -> None:
    shown = in_short({"name": value}, Redaction(values=["hunter2secret"]).text)

    assert "hunter2" not in str(shown)


def found(rule: str, **more: object) -> Finding:
    facts = {"severity": "warning", "subject": Subject(prefix="load"), **more}
    given = {"title": rule, "cause": "", "confidence": "high", "remedy": ""}
    return Finding(rule=rule, **given, **facts)  # type: ignore[arg-type]


VERDICT = found("worker-signalled", severity="failure", subject=Subject(key="die-1"))
WASTE = found("recomputed-work", cost=Cost(amount=5.0))
OF_ANOTHER = found(
    "worker-memory-limit",
    severity="failure",
    subject=Subject(key="load-2", prefix="load"),
)


@pytest.mark.parametrize(
    ("verdict", "other", "reason"),
    [
        (VERDICT, WASTE, None),
        (None, WASTE, None),
        (VERDICT, found("event-loop-blocked"), None),
        (VERDICT, found("workers-died"), "workers-died"),
        (None, found("worker-segfault"), "worker-segfault"),
        (OF_ANOTHER, WASTE, "worker-memory-limit"),
        (OF_ANOTHER, found("worker-segfault", subject=Subject(key="x-1")), None),
    ],
)
def test_a_task_was_lost_of_what_ended_workers_and_not_of_what_cost_time(
    verdict: Finding | None, other: Finding, reason: str | None
) -> None:
    known = () if verdict is None else (verdict,)
    card = RunCard(
        job="etl",
        run_id="1",
        attempt=1,
        state="failed",
        headline="",
        verdict=verdict,
        findings=(*known, other),
    )

    about = finding_about(card, "load-1")

    assert (about.rule if about is not None else None) == reason


@task
def load() -> None: ...


def submitted(*, named: bool = False, own: bool = False) -> SubmittedTask:
    run = uuid4()
    return SubmittedTask(key=str(run), task_run_id=run, task=load, named=named, own=own)


def test_prefect_is_not_asked_for_a_name_that_the_user_gave() -> None:
    own, known, new = (
        submitted(named=True, own=True),
        submitted(named=True),
        submitted(),
    )
    user = submitted(named=True)
    user.given = (("parts", SomeTasks(shown=(own, known, new))),)

    assert list(without_name([user]).values()) == [new]
    assert list(without_name([user], again=True).values()) == [user, known, new]


def test_a_line_in_the_log_of_a_task_run_is_one_line_without_control_characters() -> (
    None
):
    text = "it waited for gnp.exe\u202egnp\x1b[31m\n# Heading"

    message = error_line(uuid4(), uuid4(), text).message

    assert message.isprintable()
    assert message.startswith("it waited for gnp.exe")
    assert message.endswith("# Heading")
