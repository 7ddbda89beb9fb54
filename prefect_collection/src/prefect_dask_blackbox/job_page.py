"""The page of a job in Prefect: one artifact per flow, with a table of its last runs.

It is made of the cards that Prefect has, so that runs that end at the same time lose none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Any

from dask_blackbox.formatting import duration, size
from dask_blackbox.report import escaped
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import ArtifactCreate, ArtifactUpdate
from prefect.client.schemas.filters import ArtifactFilter
from prefect.client.schemas.objects import Artifact
from prefect.client.schemas.sorting import ArtifactSort

from prefect_dask_blackbox.identity import client_or_new, for_reader, page_of_artifact
from prefect_dask_blackbox.outgoing import outgoing

__all__ = ["job_table", "show_job"]

_MOST = 20
_HEAD = (
    "Began (UTC)",
    "Attempt",
    "State",
    "Took",
    "Peak memory",
    "Failed tasks",
    "Verdict",
)


def show_job(
    flow_name: str, run_key: str, client: SyncPrefectClient | None = None
) -> None:
    """Show the last runs of a flow on a page of its own.

    Args:
        flow_name: Of the flow.
        run_key: Key of the artifacts that are the cards of its runs.
        client: For the requests; None: one of its own.
    """
    key = run_key.replace("dask-run-", "dask-job-", 1)
    with client_or_new(client) as prefect:
        runs = _newest(prefect, run_key, ArtifactSort.CREATED_DESC, _MOST)
        shown = _newest(prefect, key, ArtifactSort.UPDATED_DESC, 1)
        data = for_reader(outgoing(job_table(runs)))
        text = outgoing(escaped(f"The last runs of {flow_name} on Dask"))
        if shown:
            change = ArtifactUpdate(data=data, description=text)
            prefect.update_artifact(shown[0].id, change)
            return
        prefect.create_artifact(
            ArtifactCreate(key=key, type="markdown", data=data, description=text)
        )


def job_table(runs: Sequence[Artifact]) -> str:
    """Return a table of runs, of which each artifact is the card, newest first."""
    rows: list[tuple[str, ...]] = [
        _HEAD,
        ("---", "--:", "---", "--:", "--:", "--:", "---"),
    ]
    rows += [_row(each, each.metadata_ or {}) for each in runs]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows) + "\n"


def _row(card: Artifact, facts: Mapping[str, Any]) -> tuple[str, ...]:
    began = "unknown"
    if card.created is not None:
        began = f"{card.created.astimezone(UTC):%Y-%m-%d %H:%M}"
    if card.flow_run_id is not None:
        url = page_of_artifact(card.flow_run_id, card.id)
        began = f"[{began}](<{url}>)" if url else began
    took, peak = facts.get("seconds"), facts.get("peak_memory")
    return (
        began,
        str(facts.get("attempt", "")),
        str(facts.get("state", "")),
        duration(float(took)) if took else "",
        size(float(peak)) if peak else "",
        str(facts.get("task_failures", "")),
        escaped(str(facts.get("cause", ""))),
    )


def _newest(
    client: SyncPrefectClient, key: str, sort: ArtifactSort, limit: int
) -> list[Artifact]:
    wanted = ArtifactFilter.model_validate({"key": {"any_": [key]}})
    return list(client.read_artifacts(artifact_filter=wanted, sort=sort, limit=limit))
