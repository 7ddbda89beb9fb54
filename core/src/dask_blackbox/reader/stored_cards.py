"""The cards of attempts in a store, for whoever decides about the next attempt."""

from __future__ import annotations

import time

from dask_blackbox.card import RunCard
from dask_blackbox.errors import BlobNotFoundError, MalformedRecordingError
from dask_blackbox.layout import RunAddress
from dask_blackbox.store import Store

__all__ = ["ended_card", "stored_card"]

_TIMEOUT = 20.0
"""Seconds after which a recording is assumed to stay unfinished."""
_PAUSE = 1.0


def stored_card(store: Store, address: RunAddress) -> RunCard | None:
    """Return the card of an attempt.

    Returns:
        None where it was not recorded, its recorder has not finished, or it is damaged.

    Raises:
        StoreError: if the store cannot be read.
    """
    try:
        return RunCard.from_json(store.get(f"{address.folder}card.json"))
    except (BlobNotFoundError, MalformedRecordingError):
        return None


def ended_card(store: Store, address: RunAddress) -> RunCard | None:
    """Return the card of an attempt once its recorder has ended it, which it is given 20 s for.

    Returns:
        None if nothing was recorded, or its recorder does not end.

    Raises:
        StoreError: if the store cannot be read.
    """
    deadline = time.monotonic() + _TIMEOUT
    try:
        store.get(f"{address.folder}run.json")
    except BlobNotFoundError:
        return None
    while time.monotonic() < deadline:
        card = stored_card(store, address)
        if card is not None and card.state != "running":
            return card
        time.sleep(_PAUSE)
    return None
