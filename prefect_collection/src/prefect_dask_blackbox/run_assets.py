"""The assets that the tasks of a flow run were to materialize, and whether they did.

Prefect tells its assets by events; its own server has no page for them. So each card has a
note of them, of which the page of the job makes a table.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from enum import StrEnum
from typing import Any
from uuid import UUID

import msgspec
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.objects import State

from prefect_dask_blackbox.final_states import read_runs
from prefect_dask_blackbox.submitted_tasks import SubmittedTask

__all__ = ["AssetState", "RunAsset", "assets_of", "note_of", "noted_assets"]

_SOON = 3.0
"""Seconds in which the states of tasks that ended may still reach Prefect's database."""
_MOST_RUNS, _MOST = 1_000, 20


class AssetState(StrEnum):
    """What a flow run did for an asset."""

    MATERIALIZED = "materialized"
    CACHED = "cached"
    MISSED = "missed"


class RunAsset(msgspec.Struct, frozen=True):
    """An asset that tasks of a flow run were to materialize.

    Attributes:
        key: Of the asset.
        url: Of its page, which its properties give; empty: they give none.
        state: What became of it: `missed` if one of these tasks did not complete, `cached`
            if the results of all came from the cache.
    """

    key: str
    url: str
    state: AssetState


def assets_of(
    client: SyncPrefectClient, entries: Iterable[SubmittedTask]
) -> list[RunAsset]:
    """Return the assets that tasks of a flow run were to materialize; 20 at most.

    Without those of which it is not known, as where states do not reach the server; and
    none where there are too many task runs to look at.

    Args:
        client: Of Prefect's API.
        entries: What the flow run submitted, once it has ended.
    """
    mine = [each for each in entries if each.assets]
    if not 0 < len(mine) <= _MOST_RUNS:
        return []
    deadline = time.monotonic() + _SOON
    while True:
        states = _states(client, mine)
        late = time.monotonic() >= deadline
        if late or all(_is_over(states.get(each.task_run_id)) for each in mine):
            break
        time.sleep(0.25)
    found: dict[str, RunAsset] = {}
    unknown: set[str] = set()
    for each in mine:
        ended = states.get(each.task_run_id)
        if ended is None or not _is_over(ended):
            unknown.update(each.assets)
            continue
        state = _asset_state(ended)
        for key, url in each.assets.items():
            known = found.get(key)
            both = state if known is None else _of_both(known.state, state)
            found[key] = RunAsset(key, url, both)
    return [each for key, each in found.items() if key not in unknown][:_MOST]


def note_of(assets: list[RunAsset]) -> str:
    """Return assets as they are noted with a card."""
    return msgspec.json.encode(assets).decode()


def noted_assets(note: str) -> list[RunAsset]:
    """Return the assets that a card's note has; none: it has no such note."""
    with suppress(msgspec.MsgspecError):
        return msgspec.json.decode(note, type=list[RunAsset])
    return []


def _states(
    client: SyncPrefectClient, entries: list[SubmittedTask]
) -> dict[UUID, State[Any] | None]:
    """Return the states that the flow got from the cluster, and of others the server's."""
    runs = read_runs(client, [each.task_run_id for each in entries])
    known: dict[UUID, State[Any] | None] = {i: run.state for i, run in runs.items()}
    known.update((each.task_run_id, each.state) for each in entries if each.state)
    return known


def _is_over(state: State[Any] | None) -> bool:
    return state is not None and (state.is_final() or state.name == "NotReady")


def _asset_state(state: State[Any]) -> AssetState:
    if not state.is_completed():
        return AssetState.MISSED
    return AssetState.CACHED if state.name == "Cached" else AssetState.MATERIALIZED


def _of_both(one: AssetState, other: AssetState) -> AssetState:
    order = (AssetState.MISSED, AssetState.MATERIALIZED, AssetState.CACHED)
    return min(one, other, key=order.index)
