"""The page of a task instance: its tries, the report of one of them, and its progress."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from dask_blackbox import formatting
from dask_blackbox.decoding import checked
from dask_blackbox.errors import BlackboxError, BlobNotFoundError
from dask_blackbox.report import is_on_demand
from dask_blackbox.serve.blobs import SANDBOX
from dask_blackbox.serve.rendering import rendered_page
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from airflow_dask_blackbox.addresses import TaskKey, log_of, page_of, tab_of
from airflow_dask_blackbox.tab.empty_state import EmptyState, empty_state_of
from airflow_dask_blackbox.tab.recordings import (
    Place,
    Recorded,
    place_of,
    recordings_of,
)
from airflow_dask_blackbox.tab.tasks import TaskSeen, task_seen
from airflow_dask_blackbox.tab.templating import answer

__all__ = ["NoRecordingError", "dashboard", "page", "status", "stored"]

_decode_card = checked(msgspec.json.Decoder(dict[str, Any]).decode)

_POLLING: Final = 5
"""Seconds between two looks at what may change; as many as between two heartbeats."""


class NoRecordingError(BlackboxError):
    """A task instance has no recording to show."""

    def __init__(self, key: TaskKey, number: int | None, problem: str) -> None:
        try_of = "" if number is None else f"Try {number} of "
        super().__init__(f"{try_of}{key.task_id} has no recording. {problem}".rstrip())


class Entry(NamedTuple):
    """One of the things to choose from: a try's recording, or a try without one.

    Attributes:
        number: Airflow's try.
        state: Of the recording; `none`: there is none; `unread`: it cannot be read.
        airflow: Airflow's word for how the try is; empty if it does not remember.
        headline: The one line to read.
        recorded: The recording, if there is one.
        place: Where that is.
        part: Which of the recordings of the try, where there are several ("2 of 3").
        ended_for: Why Airflow's scheduler or executor ended the try; empty: neither did.
    """

    number: int
    state: str
    airflow: str
    headline: str
    recorded: Recorded | None
    place: Place | None = None
    part: str = ""
    ended_for: str = ""

    @property
    def recording(self) -> str | None:
        """Id of the recording."""
        return None if self.recorded is None else self.recorded.manifest.recording


class View(NamedTuple):
    """What is known of a task instance.

    Attributes:
        key: Which.
        seen: What Airflow knows; None: nothing.
        place: Where its own recordings are; None: unknown, or not permitted.
        entries: What there is to choose from, the first try first.
        problem: Why the recordings cannot be read; empty if they can.
    """

    key: TaskKey
    seen: TaskSeen | None
    place: Place | None
    entries: tuple[Entry, ...]
    problem: str

    def chosen(self, number: int | None, recording: str) -> Entry | None:
        """Return the entry that is meant: the newest, if nobody said."""
        for entry in self.entries[::-1]:
            if recording and entry.recording != recording:
                continue
            if number is None or entry.number == number:
                return entry
        return self.entries[-1] if self.entries else None

    @property
    def goes_on(self) -> bool:
        """Whether any of it may change by itself."""
        if self.seen is not None and self.seen.goes_on:
            return True
        return any(entry.state == "running" for entry in self.entries)

    def signature(self) -> str:
        """Return what is different when the page has to be made anew."""
        facts = [
            (
                entry.number,
                entry.recording,
                entry.state,
                entry.airflow,
                entry.ended_for,
            )
            for entry in self.entries
        ]
        reported = repr((facts, self.problem, self.seen and self.seen.state))
        return hashlib.sha256(reported.encode()).hexdigest()[:16]


def view_of(key: TaskKey) -> View:
    """Return what is known of a task instance, and of its recordings."""
    seen = task_seen(key)
    if seen is None:
        return View(key, None, None, (), "")
    recorded: list[tuple[Place, Recorded]] = []
    places: list[Place] = []
    problem = ""
    for announced in _announcements(seen):
        try:
            place = place_of(key, announced)
            places.append(place)
            recorded += [(place, each) for each in recordings_of(place, key)]
        except BlackboxError as error:
            problem = problem or str(error)
        except Exception as error:  # noqa: BLE001 - of Airflow's connections: any at all
            problem = problem or f"{type(error).__name__}: {error}"
    if not seen.is_ours:
        problem = ""  # nobody expects a recording
    without = "unread" if problem else "none"
    entries = tuple(_entries(seen, recorded, without))
    return View(key, seen, places[0] if places else None, entries, problem)


def _announcements(seen: TaskSeen) -> Sequence[Mapping[str, object]]:
    """Return what is said of each place to look into.

    Where nobody said anything, a command of the task may have recorded all the same.
    """
    announcements = [*([seen.announced] if seen.announced else []), *seen.others]
    return announcements or ([{}] if seen.tries else [])


def _entries(
    seen: TaskSeen, recorded: list[tuple[Place, Recorded]], without: str
) -> Iterator[Entry]:
    states = {each.number: each.state for each in seen.tries}
    reasons = {each.number: each.ended_for for each in seen.tries}
    found: dict[int, dict[str, tuple[Place, Recorded]]] = {}
    for place, each in recorded:
        of_try = found.setdefault(each.try_number, {})
        of_try.setdefault(each.manifest.recording, (place, each))
    for number in sorted({*states, *found}):
        airflow = states.get(number, "")
        of_try = found.get(number, {})
        parts = sorted(of_try.values(), key=lambda one: one[1].manifest.started)
        for which, (place, each) in enumerate(parts, 1):
            part = f"{which} of {len(parts)}" if len(parts) > 1 else ""
            yield Entry(
                number,
                each.state,
                airflow,
                each.headline,
                each,
                place,
                part,
                reasons.get(number, ""),
            )
        if not of_try and seen.is_ours:
            reason = reasons.get(number, "")
            yield Entry(number, without, airflow, "", None, ended_for=reason)


def page(key: TaskKey, number: int | None, recording: str) -> Response:
    """Return the page of a task instance.

    Args:
        key: Which.
        number: Which of its tries; None: the newest.
        recording: Which recording; empty: the newest of the try.
    """
    view = view_of(key)
    entry = view.chosen(number, recording)
    nothing: EmptyState | None = None
    if entry is None or entry.recorded is None:
        nothing = empty_state_of(
            view.seen, view.place, view.problem, entry and entry.number
        )
    shown = entry.recorded if entry is not None else None
    note = _note(view, entry)
    of_entry = {
        "try_number": entry and entry.number,
        "recording": entry and entry.recording,
    }
    return answer(
        "task.html",
        key=key,
        view=view,
        entry=entry,
        shown=shown,
        nothing=nothing,
        live=_live(entry),
        note=note,
        ended_for=entry.ended_for if entry is not None else "",
        log=_log_to_read(key, entry) if nothing or note else "",
        poll=_POLLING if view.goes_on else 0,
        signature=view.signature(),
        address=lambda name, **more: page_of(key, name, **{**of_entry, **more}),
        of_task=page_of(key, "runs"),
    )


def _note(view: View, entry: Entry | None) -> str:
    """Return what has to be said above the report."""
    if entry is None or entry.recorded is None:
        return ""
    if entry.state == "lost":
        if entry.airflow == "running":
            return (
                "According to Airflow the task is still running, but its recorder has "
                "been silent for a minute or more. This is the data that reached the "
                "store."
            )
        return (
            "How this try ended is unknown: its recorder stopped responding, too. The report "
            "is made from the data that reached the store."
        )
    return _CONTRADICTIONS.get((entry.state, entry.airflow), "")


_CONTRADICTIONS: Final = {
    ("succeeded", "failed"): (
        "According to Airflow this try failed: somebody marked it, or the task failed "
        "after its Dask run had succeeded."
    ),
    ("failed", "success"): (
        "According to Airflow this try succeeded: somebody marked it, or the task "
        "continued after its Dask run had failed."
    ),
}
"""What has to be said of a try, by how its recording ended and by Airflow's word."""


def _log_to_read(key: TaskKey, entry: Entry | None) -> str:
    """Return the log that says what the recording does not: why the try failed."""
    if entry is None or entry.airflow not in {"failed", "up_for_retry"}:
        return ""
    return log_of(key, entry.number)


def _live(entry: Entry | None) -> dict[str, object] | None:
    """Return how far a run is, in words and in numbers."""
    if entry is None or entry.recorded is None or entry.state != "running":
        return None
    progress, started = entry.recorded.progress, entry.recorded.manifest.started
    if progress is None:
        return {"started": started, "words": {}, "numbers": {}}
    limit = (
        f" of {formatting.exact_size(progress.memory_limit)}"
        if progress.memory_limit
        else ""
    )
    left = progress.total - progress.done - progress.failed
    soon = left / progress.rate if progress.rate and left > 0 else None
    return {
        "started": started,
        "words": {
            "done": f"{progress.done:,}",
            "submitted": f"of {progress.total:,} tasks" if progress.total else "tasks",
            "failed": f"{progress.failed:,} failed" if progress.failed else "",
            "rate": f"{progress.rate:,.1f}",
            "left": "" if soon is None else f"{formatting.duration(soon)} left",
            "workers": f"{progress.workers:,}",
            "threads": f"{progress.executing:,} of {progress.threads:,} threads busy",
            "lost": f"{progress.lost_workers:,} lost" if progress.lost_workers else "",
            "memory": formatting.exact_size(progress.memory),
            "limit": limit.strip(),
        },
        "numbers": {
            "done": progress.done,
            "submitted": progress.total,
            "rate": progress.rate,
            "memory": progress.memory,
            "memory_limit": progress.memory_limit,
            "workers": progress.workers,
        },
    }


def status(key: TaskKey, number: int | None, recording: str) -> dict[str, object]:
    """Return what the page asks again and again for."""
    view = view_of(key)
    return {
        "signature": view.signature(),
        "live": _live(view.chosen(number, recording)),
    }


def dashboard(key: TaskKey, number: int | None) -> Response:
    """Return where Dask's dashboard is, or that there is none any more.

    Args:
        key: Which task instance.
        number: Which of its tries; None: the newest.
    """
    view = view_of(key)
    entry = view.chosen(number, "")
    address = "" if view.seen is None else str(view.seen.announced.get("dashboard", ""))
    newest = view.entries[-1] if view.entries else None
    if (
        entry is not None
        and entry == newest
        and entry.state == "running"
        and address.startswith(("http://", "https://"))
    ):
        return RedirectResponse(address, status_code=302)
    return answer(
        "message.html",
        title="This cluster is closed, and so is its dashboard",
        paragraphs=["The report of the Dask run shows what happened there."],
        link=(tab_of(key, number), "Open the Dask run"),
    )


def stored(key: TaskKey, number: int | None, recording: str, name: str) -> Response:
    """Return what lies in the store of a recording, or is made of it now.

    Args:
        key: Which task instance.
        number: Which of its tries.
        recording: Which recording; empty: the newest of the try.
        name: `report.html`, `performance_report.html` or `card.json`.

    Raises:
        NoRecordingError: if there is none.
        BlackboxError: if it cannot be read.
    """
    view = view_of(key)
    entry = view.chosen(number, recording)
    if entry is None or entry.recorded is None or entry.place is None:
        raise NoRecordingError(key, number, view.problem)
    blob = _blob(entry.place, entry.recorded, entry, name)
    if name == "card.json":
        card = linked_card(blob, key, entry.number)
        return Response(card, media_type="application/json")
    policy = f"{SANDBOX}; frame-ancestors 'self'"
    return HTMLResponse(blob, headers={"Content-Security-Policy": policy})


def linked_card(blob: bytes, key: TaskKey, number: int) -> bytes:
    """Return a card whose links ask for permission, as a presigned URL in it does not.

    Args:
        blob: The card as it is stored.
        key: Of which task instance.
        number: Of which of its tries.
    """
    card = _decode_card(blob)
    found = card.get("links")
    stored_links = found if isinstance(found, dict) else {}
    own = {
        "report": tab_of(key, number),
        "performance_report": page_of(
            key, "performance_report.html", try_number=number
        ),
    }
    links = {name: str(own.get(name, url)) for name, url in stored_links.items()}
    card["links"] = {n: url for n, url in links.items() if "Signature=" not in url}
    return msgspec.json.encode(card)


def _blob(place: Place, recorded: Recorded, entry: Entry, name: str) -> bytes:
    address = recorded.address
    if entry.state not in {"running", "lost"}:
        try:
            page = place.store.get(f"{address.folder}{name}")
        except BlobNotFoundError:
            pass  # the recording says it all again
        else:
            if not is_on_demand(page):
                return page
    # Nobody finishes a recording while its task may go on.
    over = entry.state == "lost" and entry.airflow != "running"
    return rendered_page(place.settings, address, name, finish=over)
