"""The events of this collection: what automations can act upon."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, UUID, uuid5

from dask_blackbox.card import RunCard
from dask_blackbox.finding import Finding
from dask_blackbox.formatting import need
from dask_blackbox.guard import guard
from dask_blackbox.report.wording import change_text
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.objects import FlowRun
from prefect.events import Event, emit_event

from prefect_dask_blackbox.identity import client_or_new, page_of
from prefect_dask_blackbox.outgoing import outgoing_in
from prefect_dask_blackbox.settings import DaskBlackboxSettings

__all__ = [
    "DEGRADED",
    "DIAGNOSED",
    "STALLED",
    "STALL_OVER",
    "Affected",
    "emit",
    "emit_diagnosed",
    "failed_task_runs",
    "tag_cause",
]

DIAGNOSED = "dask.run.diagnosed"
DEGRADED = "dask.run.degraded"
STALLED = "dask.run.stalled"
STALL_OVER = "dask.run.stall-over"
_MOST_TASK_RUNS, _MOST_ASSETS = 50, 20
"""Prefect takes at most 100 related resources, tags included."""
_MOST_CHANGES = 5
_FAILED_TASK_RUNS = "failed-task-runs"
_WORSE = ("slower-than-usual", "more-memory-than-usual", "memory-forecast")
"""Rules whose findings say that a run that completed got worse."""


class Affected(NamedTuple):
    """What a failure affected, beside the flow run.

    Attributes:
        task_runs: Names of the task runs that it hit, by id, the most important first.
        assets: Keys of the assets that these did not materialize.
    """

    task_runs: Mapping[UUID, str]
    assets: Sequence[str] = ()


def emit_diagnosed(
    card: RunCard,
    flow_run_id: UUID,
    client: SyncPrefectClient | None = None,
    *,
    affected: Affected,
    card_url: str = "",
) -> None:
    """Tell Prefect the verdict of a run; of one that completed, what got worse, if anything.

    Telling it twice is telling it once: the event's id follows from run and attempt.

    Args:
        card: Of the run.
        flow_run_id: Of the flow run.
        client: For the requests; None: one of its own.
        affected: What the failure affected.
        card_url: Of the card's page; empty: of the flow run's.
    """
    url = card_url or page_of("flow-run", flow_run_id)
    if card.verdict is None:
        _emit_degraded(card, flow_run_id, url, client, affected=affected)
        return
    verdict = card.verdict
    emit(
        DIAGNOSED,
        card,
        flow_run_id,
        labels={
            "dask.cause": verdict.rule,
            "dask.confidence": verdict.confidence,
            "dask.retry_advice": verdict.retry_advice,
            "dask.retry_confidence": verdict.retry_confidence,
            "dask.report_uri": card.links.get("report", ""),
            **_memory_label(verdict),
            **_history_labels(card),
        },
        payload={
            "headline": card.headline,
            "cause": verdict.cause,
            "remedy": verdict.remedy,
            "changes": [change_text(each) for each in card.changes[:_MOST_CHANGES]],
            "card_url": url,
        },
        mark=verdict.rule,
        client=client,
        affected=affected,
    )


def _emit_degraded(
    card: RunCard,
    flow_run_id: UUID,
    url: str,
    client: SyncPrefectClient | None,
    *,
    affected: Affected,
) -> None:
    failed = failed_task_runs(card)
    reasons = {_FAILED_TASK_RUNS: card.headline} if failed else {}
    reasons |= {each.rule: each.title for each in card.findings if each.rule in _WORSE}
    if card.state != "succeeded" or not reasons:
        return
    emit(
        DEGRADED,
        card,
        flow_run_id,
        labels={
            **{f"dask.{reason}": "true" for reason in reasons},
            "dask.failed_task_runs": str(failed),
            "dask.report_uri": card.links.get("report", ""),
        },
        payload={
            "headline": card.headline,
            "reasons": list(reasons.values()),
            "card_url": url,
        },
        mark=DEGRADED,
        client=client,
        affected=affected,
    )


def failed_task_runs(card: RunCard) -> int:
    """Return how many task runs of a completed run failed."""
    failed = card.numbers.get("host_failures", 0)
    return int(failed) if card.state == "succeeded" else 0


def _memory_label(verdict: Finding) -> dict[str, str]:
    """Return the size that the remedy asks for, as Dask reads it; empty: it asks for none."""
    if verdict.retry_advice != "memory" or verdict.worker_memory is None:
        return {}
    return {"dask.memory_needed": need(verdict.worker_memory)}


def _history_labels(card: RunCard) -> dict[str, str]:
    """Return which failure it is of those of its kind; empty: the history was not read."""
    found = card.past.recurrence if card.past is not None else None
    if found is None:
        return {}
    return {
        "dask.fingerprint": found.fingerprint,
        "dask.new_failure": str(found.last is None).lower(),
        "dask.failures_in_a_row": str(found.in_a_row),
    }


def tag_cause(
    card: RunCard,
    flow_run: FlowRun,
    client: SyncPrefectClient | None = None,
    *,
    before: Collection[str] = (),
) -> None:
    """Tag a flow run with the cause of its failure, so that lists can be filtered by it.

    Args:
        card: Of the attempt that has ended.
        flow_run: The flow run.
        client: For the requests; None: one of its own.
        before: Causes of earlier attempts, whose tags it has: they are not why it ended.
    """
    if not DaskBlackboxSettings().tags:
        return
    cause = card.verdict.rule if card.verdict is not None else None
    if failed_task_runs(card):
        cause = _FAILED_TASK_RUNS
    if cause is None and not before:
        return
    old = {_tag_of(each) for each in before}
    with client_or_new(client) as prefect:
        # Not `flow_run.tags`: the engine's is as it was before the first attempt.
        known = prefect.read_flow_run(flow_run.id).tags
        tags = [tag for tag in known if tag not in old]
        tags += [] if cause is None else [_tag_of(cause)]
        if set(tags) != set(known):
            prefect.update_flow_run(flow_run.id, tags=list(dict.fromkeys(tags)))


def _tag_of(cause: str) -> str:
    return f"dask:{cause}"


def emit(
    kind: str,
    card: RunCard,
    flow_run_id: UUID,
    *,
    labels: dict[str, str],
    payload: dict[str, object],
    mark: str,
    follows: str | None = None,
    client: SyncPrefectClient | None = None,
    affected: Affected | None = None,
) -> None:
    """Emit an event about a run, related to its flow run, flow, deployment and task runs.

    Args:
        kind: Name of the event.
        card: Of the run.
        flow_run_id: Of the flow run.
        labels: What automations can match.
        payload: What people read.
        mark: Tells it from other events of that kind of the same attempt.
        follows: Kind of the event with the same mark that automations have to see first.
        client: For the requests; None: one of its own.
        affected: What it is related to besides.
    """
    where = f"{flow_run_id}/{card.attempt}/{mark}"
    identity = uuid5(NAMESPACE_URL, f"{kind}/{where}")
    before = uuid5(NAMESPACE_URL, f"{follows}/{where}") if follows else None
    resource = {
        "prefect.resource.id": f"dask.run.{flow_run_id}.{card.attempt}",
        "prefect.resource.name": card.job,
        **labels,
    }
    related = [_related("flow-run", flow_run_id)]
    sent = False
    with guard("an event"), client_or_new(client) as prefect:
        run = prefect.read_flow_run(flow_run_id)
        resource["dask.by_automation"] = _by_automation(run)
        related = _all_related(run)
        related += _all_affected(affected) if affected is not None else []
        event = Event.model_validate(
            {
                "event": kind,
                "resource": outgoing_in(resource),
                "related": related,
                "payload": outgoing_in(payload),
                "id": identity,
                "follows": before,
            }
        )
        # Not `emit_event`: this process may be about to exit.
        body = [event.model_dump(mode="json")]
        prefect.request("POST", "/events", json=body).raise_for_status()
        sent = True
    if not sent:
        shown: Any = outgoing_in(resource), outgoing_in(payload)
        emit_event(kind, shown[0], related=related, payload=shown[1], id=identity)


def _by_automation(run: FlowRun) -> str:
    """Return `true` if an automation created a flow run: another rerun could go on for ever."""
    created_by = run.created_by
    return str(created_by is not None and created_by.type == "AUTOMATION").lower()


def _all_related(run: FlowRun) -> list[dict[str, str]]:
    found = [
        {**_related("flow-run", run.id), "prefect.resource.name": run.name},
        _related("flow", run.flow_id),
    ]
    if run.deployment_id is not None:
        found.append(_related("deployment", run.deployment_id))
    found += [_tag(tag) for tag in run.tags]
    return found


def _all_affected(affected: Affected) -> Iterator[dict[str, str]]:
    for identity, name in islice(affected.task_runs.items(), _MOST_TASK_RUNS):
        yield {**_related("task-run", identity), "prefect.resource.name": name}
    for key in islice(dict.fromkeys(affected.assets), _MOST_ASSETS):
        yield {"prefect.resource.id": key, "prefect.resource.role": "asset"}


def _related(kind: str, identity: UUID) -> dict[str, str]:
    return {
        "prefect.resource.id": f"prefect.{kind}.{identity}",
        "prefect.resource.role": kind,
    }


def _tag(tag: str) -> dict[str, str]:
    return {
        "prefect.resource.id": f"prefect.tag.{tag}",
        "prefect.resource.role": "tag",
    }
