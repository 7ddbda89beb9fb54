"""The page of a job in Prefect: one artifact per flow, with a table of its last runs.

A second table has the assets of its tasks.  The page is made of the cards that Prefect has,
so that runs that end at the same time lose none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC
from typing import Any

from dask_blackbox.formatting import counted, duration, plain, size
from dask_blackbox.report import escaped
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import ArtifactCreate, ArtifactUpdate
from prefect.client.schemas.filters import ArtifactFilter
from prefect.client.schemas.objects import Artifact
from prefect.client.schemas.sorting import ArtifactSort

from prefect_dask_blackbox.identity import client_or_new, for_reader, page_of_artifact
from prefect_dask_blackbox.outgoing import outgoing
from prefect_dask_blackbox.page import linked_code, table_cell
from prefect_dask_blackbox.run_assets import AssetState, noted_assets
from prefect_dask_blackbox.settings import DaskBlackboxSettings

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
_ASSETS_HEAD = ("Asset", "Last materialized (UTC)", "Failed since")
_MOST_ASSETS = 20


def show_job(
    flow_name: str, run_key: str, client: SyncPrefectClient | None = None
) -> None:
    """Show the last runs of a flow on a page of its own, unless the setting says not to.

    Args:
        flow_name: Of the flow.
        run_key: Key of the artifacts that are the cards of its runs.
        client: For the requests; None: one of its own.
    """
    if not DaskBlackboxSettings().job_page:
        return
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
    """Return a table of runs, of which each artifact is the card, newest first.

    And a table of the assets that their tasks were to materialize, if there are any.
    """
    rows: list[tuple[str, ...]] = [
        _HEAD,
        ("---", "--:", "---", "--:", "--:", "--:", "---"),
    ]
    rows += [_row(each, each.metadata_ or {}) for each in runs]
    assets = list(_asset_rows(runs))
    page = _lines(rows)
    if assets:
        head = [_ASSETS_HEAD, ("---", "---", "--:")]
        page += f"\n{_lines([*head, *assets[:_MOST_ASSETS]])}"
    if len(assets) > _MOST_ASSETS:
        page += f"\n+{len(assets) - _MOST_ASSETS} more assets\n"
    return page


def _lines(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows) + "\n"


def _asset_rows(runs: Sequence[Artifact]) -> Iterator[tuple[str, str, str]]:
    """Yield for each asset its key, the newest run that materialized it, and how many failed since."""
    urls: dict[str, str] = {}
    last: dict[str, str] = {}
    missed: dict[str, int] = {}
    for card in runs:
        facts = card.metadata_ or {}
        for each in noted_assets(str(facts.get("assets", ""))):
            urls.setdefault(each.key, each.url)
            if each.key in last:
                continue
            if each.state == AssetState.MATERIALIZED:
                last[each.key] = _moment(card)
            missed.setdefault(each.key, 0)
            missed[each.key] += each.state == AssetState.MISSED
    for key, url in urls.items():
        since = counted(missed[key], "run") if missed[key] else ""
        linked = table_cell(linked_code(plain(key), url))
        yield linked, last.get(key, "in none of these runs"), since


def _moment(card: Artifact) -> str:
    """Return when a run began, with a link to its card."""
    began = "unknown"
    if card.created is not None:
        began = f"{card.created.astimezone(UTC):%Y-%m-%d %H:%M}"
    if card.flow_run_id is not None:
        url = page_of_artifact(card.flow_run_id, card.id)
        began = f"[{began}](<{url}>)" if url else began
    return began


def _row(card: Artifact, facts: Mapping[str, Any]) -> tuple[str, ...]:
    took, peak = facts.get("seconds"), facts.get("peak_memory")
    return (
        _moment(card),
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
