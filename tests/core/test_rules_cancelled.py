"""Who cancelled the work?"""

from __future__ import annotations

import pytest
from building import a_graph, a_log_line, a_run, a_worker, an_event, an_exception
from building import failed_with as ended_with
from dask_blackbox.analyse import findings_in, verdict_of
from dask_blackbox.finding import Finding

CANCELLED = "distributed.client.FutureCancelledError"
OURS, THEIRS = "Client-1111", "Client-2222"


def said_by_the_scheduler(client: str, key: str) -> list[object]:
    lines = (
        f"Client {client} requests to cancel 3 keys",
        f"Scheduler cancels key {key}.  Force=True",
    )
    return [
        a_log_line(line, at=9.0 + n, role="scheduler", level=20, seq=n)
        for n, line in enumerate(lines)
    ]


def cancelled_by(client: str, key: str = "draw-1", reason: str = "unknown") -> Finding:
    run = a_run(
        a_worker(),
        a_graph(),
        an_event("driver-attached", "driver", client=OURS),
        *said_by_the_scheduler(client, key),  # type: ignore[arg-type]
        ended_with(an_exception(CANCELLED, f"draw-1 cancelled for reason: {reason}.")),
    )
    found = verdict_of(findings_in(run), run)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("client", "by", "advice"),
    [
        (OURS, "the run's own driver", "unknown"),
        (THEIRS, "another client of the cluster", "transient"),
        ("Client-worker-3333", "one of its tasks", "transient"),
    ],
)
def test_who_asked_for_it_is_told(client: str, by: str, advice: str) -> None:
    found = cancelled_by(client)

    assert found.title == f"The work was cancelled by {by}"
    assert found.retry_advice == advice
    assert found.evidence[-1].text.startswith(f"Client {client} requests")


def test_the_reason_is_told_too_if_there_is_one() -> None:
    found = cancelled_by(OURS, reason="stale")

    assert found.title == "The work was cancelled by the run's own driver: stale"


def test_nobody_is_accused_for_other_keys() -> None:
    found = cancelled_by(THEIRS, key="another-7")

    assert found.title == "The work was cancelled"
    assert THEIRS not in found.cause
