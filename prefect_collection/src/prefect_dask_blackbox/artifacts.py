"""What a flow run's page shows: the card, and links to the reports.

Artifacts are made through the client with explicit ids, so that any process can make and
mend them, also when the run is over.  One attempt updates its own in place: the page
lists every version of a key.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from uuid import UUID

import msgspec
from dask_blackbox.attach import RunCard
from dask_blackbox.report import markdown
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import ArtifactCreate, ArtifactUpdate

from prefect_dask_blackbox.identity import prefect_client

__all__ = ["FlowRunPage", "PageItem", "items_of", "slug"]

_LONGEST_DATA = 90_000
"""Characters; lists of artifacts carry their data."""

_TITLES = {
    "report": "Report of this run: verdict, tasks, workers, logs",
    "performance_report": "Dask's performance report",
}


@dataclass(frozen=True)
class PageItem:
    """One artifact: its key, its Markdown, and the line below its title."""

    key: str
    data: str
    description: str


def slug(flow_name: str) -> str:
    """Return a flow's name as it may stand in an artifact's key."""
    plain = re.sub(r"[^a-z0-9]+", "-", flow_name.lower()).strip("-")
    if flow_name.isascii() and plain:
        return plain
    digest = hashlib.sha256(flow_name.encode()).hexdigest()[:8]
    return f"{plain}-{digest}".strip("-")


def items_of(card: RunCard, flow_name: str) -> list[PageItem]:
    """Return the artifacts that show a card: itself, then a link for each report."""
    name = slug(flow_name)
    told = f"{card.headline} (attempt {card.attempt})"
    items = [PageItem(f"dask-run-{name}", _cut(markdown(card)), told)]
    for link, title in _TITLES.items():
        address = card.links.get(link)
        if address:
            key = f"dask-{link.replace('_', '-')}-{name}"
            items.append(PageItem(key, _link(title, address), title))
    return items


def task_item(card: RunCard, flow_name: str) -> PageItem:
    """Return the artifact for a task run that was lost: the verdict only."""
    short = msgspec.structs.replace(card, changes=(), findings=(), numbers={})
    return PageItem(
        f"dask-lost-task-{slug(flow_name)}", _cut(markdown(short)), card.headline
    )


def _cut(data: str) -> str:
    if len(data) <= _LONGEST_DATA:
        return data
    return data[:_LONGEST_DATA] + "\n\n… the rest stands in the report.\n"


def _link(title: str, address: str) -> str:
    if address.startswith(("https://", "http://")):
        return f"[{title}](<{address}>)"
    # The page strips links that a browser can't follow.
    return f"{title}: `{address.replace('`', '')}`"


class FlowRunPage:
    """The artifacts of one attempt of a flow run."""

    def __init__(self, flow_run_id: UUID, flow_name: str) -> None:
        self._flow_run_id = flow_run_id
        self._flow_name = flow_name
        self._known: dict[tuple[str, UUID | None], UUID] = {}

    def find(self, attempt: int) -> dict[str, str] | None:
        """Take over the artifacts that another process made for an attempt.

        Returns:
            What it noted about its recording, or None if it made none.
        """
        from prefect.client.schemas.filters import ArtifactFilter

        noted: dict[str, str] | None = None
        mine = {"flow_run_id": {"any_": [self._flow_run_id]}}
        with prefect_client() as client:
            for artifact in client.read_artifacts(
                artifact_filter=ArtifactFilter.model_validate(mine), limit=200
            ):
                facts = artifact.metadata_ or {}
                if artifact.key and facts.get("attempt") == str(attempt):
                    self._known[artifact.key, artifact.task_run_id] = artifact.id
                    noted = facts
        return noted

    def show(self, card: RunCard) -> None:
        """Show a card, in place of the one that was shown before."""
        with prefect_client() as client:
            for item in items_of(card, self._flow_name):
                self._put(client, item, card, None)

    def show_on_task(self, card: RunCard, task_run_id: UUID) -> None:
        """Show the verdict on the page of a task run."""
        with prefect_client() as client:
            self._put(client, task_item(card, self._flow_name), card, task_run_id)

    def _put(
        self,
        client: SyncPrefectClient,
        item: PageItem,
        card: RunCard,
        task_run_id: UUID | None,
    ) -> None:
        facts = {
            "attempt": str(card.attempt),
            "state": card.state,
            "recording": card.links.get("recording", ""),
        }
        known = self._known.get((item.key, task_run_id))
        if known is not None:
            change = ArtifactUpdate(
                data=item.data, description=item.description, metadata_=facts
            )
            client.update_artifact(known, change)
            return
        made = client.create_artifact(
            ArtifactCreate(
                key=item.key,
                type="markdown",
                data=item.data,
                description=item.description,
                metadata_=facts,
                # An artifact with a task run's id alone is not on the flow run's page.
                flow_run_id=self._flow_run_id,
                task_run_id=task_run_id,
            )
        )
        self._known[item.key, task_run_id] = made.id
