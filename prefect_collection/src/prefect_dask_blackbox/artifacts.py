"""The artifacts on the pages of a flow run and of its lost tasks.

Artifacts are made through the client with explicit ids, so that any process can make and
fix them, also when the run is over.  One attempt updates its own in place: the page
lists every version of a key.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import msgspec
from dask_blackbox.card import RunCard
from dask_blackbox.card_data import Overview
from dask_blackbox.finding import Finding
from dask_blackbox.patterns import bounded
from dask_blackbox.report import inline, markdown
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import ArtifactCreate, ArtifactUpdate
from prefect.client.schemas.objects import Artifact

from prefect_dask_blackbox.identity import (
    client_or_new,
    for_reader,
    page_of_artifact,
)
from prefect_dask_blackbox.lost_tasks import cause_of
from prefect_dask_blackbox.outgoing import outgoing
from prefect_dask_blackbox.page import (
    TaskLine,
    attempt_line,
    card_page,
    with_task_names,
)
from prefect_dask_blackbox.submitted_tasks import SubmittedTask

__all__ = ["FlowRunPage", "PageItem", "key_of", "slug"]

_LONGEST_HEADLINE = 300


@dataclass(frozen=True)
class PageItem:
    """One artifact: its key, its Markdown, and the line below its title, which is no Markdown."""

    key: str
    data: str
    description: str


def slug(flow_name: str) -> str:
    """Return a flow's name as it may stand in an artifact's key."""
    plain = bounded(r"[^a-z0-9]+").sub("-", flow_name.lower()).strip("-")
    if flow_name.isascii() and plain:
        return plain
    digest = hashlib.sha256(flow_name.encode()).hexdigest()[:8]
    return f"{plain}-{digest}".strip("-")


def key_of(flow_name: str) -> str:
    """Return the key of the card of a flow's runs."""
    return f"dask-run-{slug(flow_name)}"


def task_item(
    card: RunCard,
    flow_name: str,
    entry: SubmittedTask,
    about: Finding | None,
    names: Mapping[str, str] | None = None,
) -> PageItem:
    """Return the artifact for a task run that was lost: what it was lost of, only."""
    title = about.title if about is not None else cause_of(entry.error)
    short = msgspec.structs.replace(
        card,
        state="failed",
        headline=title,
        verdict=about,
        chain=card.chain if about is card.verdict else (),
        changes=(),
        findings=(),
        numbers={},
    )
    data = markdown(with_task_names(short, names or {}))
    return PageItem(f"dask-lost-task-{slug(flow_name)}", data, title)


class FlowRunPage:
    """The artifacts of one attempt of a flow run.

    Attributes:
        before: A line of each earlier attempt that has a card, in order, once `find` was
            called.
        causes: The rules that their verdicts name.

    Args:
        flow_run_id: Of the flow run.
        flow_name: Of its flow.
        client: For all requests; None: each has one of its own.
    """

    def __init__(
        self,
        flow_run_id: UUID,
        flow_name: str,
        client: SyncPrefectClient | None = None,
    ) -> None:
        self._flow_run_id, self._client = flow_run_id, client
        self._flow_name = flow_name
        self._known: dict[tuple[str, UUID | None], UUID] = {}
        self._turn = threading.Lock()
        self._final = False
        self._noted: dict[str, str] = {}
        self._facts: dict[str, str] = {}
        self.before: list[str] = []
        self.causes: set[str] = set()

    def find(self, attempt: int | None) -> dict[str, str] | None:
        """Take over the artifacts that there are of an attempt and those before it.

        Args:
            attempt: Its number; None: of the newest that there is.

        Returns:
            What it noted about its recording, or None if it made none.
        """
        from prefect.client.schemas.filters import ArtifactFilter

        noted: dict[str, str] | None = None
        others: dict[int, str] = {}
        mine = {"flow_run_id": {"any_": [self._flow_run_id]}}
        with client_or_new(self._client) as client:
            found = client.read_artifacts(
                artifact_filter=ArtifactFilter.model_validate(mine), limit=200
            )
        cards = [(n, each) for each in found if (n := _attempt_of(each)) is not None]
        newest = max((number for number, _ in cards), default=1)
        attempt = newest if attempt is None else attempt
        for number, artifact in cards:
            facts = artifact.metadata_ or {}
            if number == attempt:
                self._known[str(artifact.key), artifact.task_run_id] = artifact.id
                noted = facts
            elif number < attempt:
                url = page_of_artifact(self._flow_run_id, artifact.id)
                self.causes.add(str(facts.get("cause", "")))
                others[number] = attempt_line(number, facts, url)
        self.before = [others[number] for number in sorted(others)]
        return noted

    def show(
        self,
        card: RunCard,
        tasks: Sequence[TaskLine] = (),
        *,
        attempts: tuple[int, int] | None = None,
        logs: int = 0,
        names: Mapping[str, str] | None = None,
        overview: Overview | None = None,
        runs: Mapping[str, TaskLine] | None = None,
        not_retried: str = "",
        rerun: str = "",
        ignored: str = "",
    ) -> None:
        """Show a card, in place of the one that was shown before.

        Args:
            card: The card.
            tasks: The affected task runs.
            attempts: Which attempt of how many.
            logs: How many lines were put into the flow run's log.
            names: Prefect's names of tasks, by key.
            overview: The extremes of the run and its picture.
            runs: The task runs that it names, by key.
            not_retried: Why no retry follows though there are some.
            rerun: What a retry would execute again.
            ignored: Where `allow_failure` had no effect, as Markdown.
        """
        data = card_page(
            card,
            tasks,
            attempts=attempts,
            logs=logs,
            names=names,
            overview=overview,
            runs=runs,
            before=self.before,
            not_retried=not_retried,
            rerun=rerun,
            ignored=ignored,
        )
        text = card.headline
        if attempts is not None and attempts[1] > 1:  # first: lists cut the rest
            ended = ", not retried" if not_retried else ""
            text = f"Attempt {attempts[0]} of {attempts[1]}{ended}: {text}"
        with client_or_new(self._client) as client:
            item = PageItem(key_of(self._flow_name), data, text)
            self._put(client, item, card, None)

    @property
    def card_url(self) -> str:
        """Address of the page of the card; empty: it was not shown."""
        found = self._known.get((key_of(self._flow_name), None))
        return "" if found is None else page_of_artifact(self._flow_run_id, found)

    def note(self, **facts: str) -> None:
        """Note more with the card that is shown: the page of the job is made of these notes."""
        with self._turn:
            self._noted |= {name: outgoing(each) for name, each in facts.items()}
            found = self._known.get((key_of(self._flow_name), None))
            if found is not None:
                change = ArtifactUpdate(metadata_=self._facts | self._noted)
                with client_or_new(self._client) as client:
                    client.update_artifact(found, change)

    def show_live(self, card: RunCard, data: str, text: str) -> None:
        """Show how a run gets on.

        Args:
            card: What is known so far.
            data: The page.
            text: The line below its title.
        """
        with client_or_new(self._client) as client:
            item = PageItem(key_of(self._flow_name), data, text)
            self._put(client, item, card, None)

    def show_on_task(
        self,
        card: RunCard,
        entry: SubmittedTask,
        about: Finding | None,
        names: Mapping[str, str] | None = None,
    ) -> None:
        """Show on the page of a task run of what it was lost, with Prefect's names of tasks."""
        with client_or_new(self._client) as client:
            item = task_item(card, self._flow_name, entry, about, names)
            self._put(client, item, card, entry.task_run_id)

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
            "headline": card.headline[:_LONGEST_HEADLINE],
            "cause": card.verdict.rule if card.verdict is not None else "",
            **_numbers_of(card),
        }
        with self._turn:
            if self._final and card.state == "running":
                return  # from a thread that began to show it before the run ended
            self._final = self._final or card.state != "running"
            self._write(client, item, facts, task_run_id)

    def _write(
        self,
        client: SyncPrefectClient,
        item: PageItem,
        facts: dict[str, str],
        task_run_id: UUID | None,
    ) -> None:
        known = self._known.get((item.key, task_run_id))
        # Both UIs render the description as Markdown, too.
        text = outgoing(inline(item.description))
        data = for_reader(outgoing(item.data))
        facts = {name: outgoing(each) for name, each in facts.items()} | self._noted
        if task_run_id is None:
            self._facts = facts
        if known is not None:
            change = ArtifactUpdate(data=data, description=text, metadata_=facts)
            client.update_artifact(known, change)
            return
        made = client.create_artifact(
            ArtifactCreate(
                key=item.key,
                type="markdown",
                data=data,
                description=text,
                metadata_=facts,
                # With a task run's id alone it is on that one's page, and does not come
                # before the card on the flow run's.
                flow_run_id=self._flow_run_id if task_run_id is None else None,
                task_run_id=task_run_id,
            )
        )
        self._known[item.key, task_run_id] = made.id


def _numbers_of(card: RunCard) -> dict[str, str]:
    """Return what the job's page shows of a run that has ended."""
    names = {"duration": "seconds", "peak_memory": "peak_memory", "task_failures": ""}
    known = {} if card.state == "running" else card.numbers
    return {names[n] or n: f"{known[n]:g}" for n in names if n in known}


def _attempt_of(artifact: Artifact) -> int | None:
    """Return the attempt that one of our artifacts belongs to; None: it is not ours."""
    number = str((artifact.metadata_ or {}).get("attempt", ""))
    return int(number) if artifact.key and number.isdecimal() else None
