"""The recordings of a task instance in their store, each only for the task that made it."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Final, NamedTuple

import msgspec
from dask_blackbox.card import RunCard
from dask_blackbox.errors import (
    BlackboxError,
    BlobNotFoundError,
    RecordingError,
)
from dask_blackbox.finding import Change, unusual
from dask_blackbox.layout import STOPPED_BY_HOST, RunAddress
from dask_blackbox.manifest import Manifest, Progress
from dask_blackbox.reader.documents import read_ending, read_heartbeat, read_manifest
from dask_blackbox.reader.unreadable import reading
from dask_blackbox.store import Store, open_store, store_settings

from airflow_dask_blackbox.addresses import TaskKey
from airflow_dask_blackbox.causes import Cause
from airflow_dask_blackbox.stores import configured_store, store_settings_of
from airflow_dask_blackbox.tab.permitted import (
    check_store,
    permitted_connection,
    permitted_settings,
)

_log = logging.getLogger(__name__)

__all__ = ["STALE", "Place", "Recorded", "place_of", "recordings_of"]

STALE: Final = 60.0
"""Seconds without a heartbeat after which nobody is believed to record any more."""

_IMPATIENT: Final = {"connect-timeout": "3s", "read-timeout": "10s", "attempts": 2}
"""People wait for these pages."""

_AT_ONCE: Final = 8
_MOST_ATTEMPTS: Final = 30
_MOST_KEPT: Final = 1000
_MOST_CHANGES: Final = 3
_STORES_KEPT: Final = 20
_STORE_KEPT_FOR: Final = 300.0


class Place(NamedTuple):
    """Where the recordings of a task instance are.

    Attributes:
        store: The store.
        settings: All that another process needs to open it; may hold a secret.
        job: Its job there.
        run_id: Its run there.
    """

    store: Store
    settings: dict[str, object]
    job: str
    run_id: str


class Recorded(NamedTuple):
    """A recording.

    Attributes:
        address: Where in the store it is.
        try_number: Airflow's try that it is of.
        state: How it ended; `running` or `lost` while nobody said so.
        headline: The one line to read; empty while it runs.
        stopped: Airflow or a person ended it, which is no failure of the job.
        manifest: Who it is.
        progress: Progress, while it runs.
        numbers: Measures of a recording that has ended, by name.
        changes: What changed in an unusual way since the last good run, the most telling
            first.
        cause: Why it failed, if it did and that is known.
    """

    address: RunAddress
    try_number: int
    state: str
    headline: str
    manifest: Manifest
    stopped: bool = False
    progress: Progress | None = None
    numbers: Mapping[str, float] = {}
    changes: tuple[Change, ...] = ()
    cause: Cause | None = None


def place_of(key: TaskKey, announced: Mapping[str, object]) -> Place:
    """Return where recordings of a task instance are to be looked for.

    Args:
        key: Which task instance.
        announced: What it announced of them; what it did not say is as for any task.

    Raises:
        ConfigurationError: if its store may not be read here, or cannot be.
        Exception: whatever looking up its Airflow connection raises.
    """
    store, settings = _opened(announced)
    job = _text_of(announced, "job") or f"{key.dag_id}.{key.task_id}"
    run = key.run_id if key.map_index < 0 else f"{key.run_id}.map{key.map_index}"
    return Place(store, settings, job, _text_of(announced, "run") or run)


_stores: OrderedDict[bytes, tuple[float, Store, dict[str, object]]] = OrderedDict()
_ended: OrderedDict[tuple[str, RunAddress], Recorded] = OrderedDict()
_lock = Lock()


def _opened(announced: Mapping[str, object]) -> tuple[Store, dict[str, object]]:
    given = announced.get("settings")
    chosen = {
        name: value
        for name, value in (given if isinstance(given, dict) else {}).items()
        if isinstance(value, str)
    }
    url = configured_store(_text_of(announced, "store"))
    if url is not None:
        check_store(url)
    conn_id = permitted_connection(
        _text_of(announced, "conn_id") or _text_of(announced, "store_conn_id")
    )
    asked = msgspec.json.encode([url, conn_id, sorted(chosen.items())])
    with _lock:
        until, store, settings = _stores.get(asked, (0.0, None, {}))
    if store is not None and time.monotonic() < until:
        return store, settings
    own = {**_IMPATIENT, **(store_settings_of(conn_id, None) or {})}
    settings = store_settings(url, settings=own)
    more = permitted_settings(url, chosen, settings)
    # The task's own choice gives way to this server's connection.
    settings = store_settings(url, settings=more | own)
    check_store(str(settings["url"]))
    store = open_store(None, settings=settings)
    with _lock:
        _stores[asked] = (time.monotonic() + _STORE_KEPT_FOR, store, settings)
        while len(_stores) > _STORES_KEPT:
            _stores.popitem(last=False)
    return store, settings


def _text_of(announced: Mapping[str, object], name: str) -> str | None:
    value = announced.get(name)
    return value if isinstance(value, str) and value else None


def recordings_of(place: Place, key: TaskKey) -> list[Recorded]:
    """Return the recordings of a task instance, the first first.

    What lies at its address and is another task's is left out: a recording is for those
    only who may read the logs of the DAG that made it.

    Raises:
        BlackboxError: if the store cannot be read.
    """
    first = RunAddress.of(place.job, place.run_id, 1)
    above = first.folder.rsplit("attempt=", 1)[0]
    numbers = sorted(
        int(number)
        for name in place.store.folders(above)
        if (number := name.removeprefix("attempt=")).isdigit()
    )
    addresses = [first._replace(attempt=each) for each in numbers[-_MOST_ATTEMPTS:]]
    if not addresses:
        return []
    with ThreadPoolExecutor(min(_AT_ONCE, len(addresses))) as reading:
        found = list(reading.map(lambda at: _recorded(place.store, at), addresses))
    return sorted(
        (each for each in found if each is not None and _is_of(each.manifest, key)),
        key=lambda each: (each.try_number, each.address.attempt),
    )


def _is_of(manifest: Manifest, key: TaskKey) -> bool:
    host = manifest.host
    return (
        host.get("kind") == "airflow"
        and host.get("dag_id") == key.dag_id
        and host.get("task_id") == key.task_id
        and host.get("run_id", manifest.run_id) == key.run_id
        and str(host.get("map_index", -1)) == str(key.map_index)
    )


def _recorded(store: Store, address: RunAddress) -> Recorded | None:
    """Return a recording; None for one that cannot be read, which hides no other."""
    try:
        with reading(address):
            return _read(store, address)
    except (BlobNotFoundError, RecordingError) as error:
        if not isinstance(error, BlobNotFoundError):
            _log.warning("a recording was left out: %s", error)
        return None


def _read(store: Store, address: RunAddress) -> Recorded:
    with _lock:
        known = _ended.get((store.url, address))
    if known is not None:
        return known
    manifest = read_manifest(store, address.folder)
    number = manifest.host.get("try_number")
    found = Recorded(
        address=address,
        try_number=number if isinstance(number, int) else manifest.attempt,
        state="running",
        headline="",
        manifest=manifest,
    )
    ending = read_ending(store, address.folder, {})
    if ending is not None:
        card = _card(store, address)
        found = found._replace(state=ending.state)
        if card is not None:
            found = found._replace(
                headline=card.headline,
                stopped=_is_stopped(card),
                numbers=card.numbers,
                changes=unusual(card.changes)[:_MOST_CHANGES],
                cause=Cause.of(card),
            )
        with _lock:
            _ended[store.url, address] = found
            while len(_ended) > _MOST_KEPT:
                _ended.popitem(last=False)
        return found
    beat = read_heartbeat(store, address.folder)
    if time.time() - (manifest.started if beat is None else beat.at) > STALE:
        return found._replace(state="lost")
    return found._replace(progress=None if beat is None else beat.progress)


def _is_stopped(card: RunCard) -> bool:
    return card.verdict is not None and card.verdict.rule == STOPPED_BY_HOST


def _card(store: Store, address: RunAddress) -> RunCard | None:
    try:
        return RunCard.from_json(store.get(f"{address.folder}card.json"))
    except BlackboxError:
        return None
