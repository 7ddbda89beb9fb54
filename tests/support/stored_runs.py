"""A shelf: a store in a folder, with recordings and cards made for a test."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from dask_blackbox.card import RunCard
from dask_blackbox.layout import RunAddress
from dask_blackbox.store import Store, open_store
from dask_blackbox.testing import EPOCH, recorded
from dask_blackbox.testing.facts import Fact

__all__ = ["Shelf"]


class Shelf:
    """A store to put recordings on."""

    def __init__(self, folder: Path | str) -> None:
        self.url = str(folder)
        self.store: Store = open_store(folder)

    def record(
        self,
        job: str = "nightly",
        run_id: str = "run-1",
        *facts: Fact,
        attempt: int = 1,
        started: float = EPOCH,
        state: Any = "succeeded",
        **on_the_card: Any,
    ) -> RunAddress:
        """Write a recording; of a `running` one the recorder lives, of a `lost` one not."""
        ended = state not in {"running", "lost"}
        address = recorded(
            self.store,
            *facts,
            job=job,
            run_id=run_id,
            attempt=attempt,
            started=started,
            state=state if ended else None,
            heartbeat=time.time() if state == "running" else started + 5,
        )
        if ended:
            said = {"headline": f"it {state}", "numbers": {"duration": 192.0}}
            card = RunCard(
                job=job,
                run_id=run_id,
                attempt=attempt,
                state=state,
                completeness={"recorded": True, "kept": "store", "complete": True},
                **(said | on_the_card),
            )
            self.store.put(f"{address.folder}card.json", card.to_json())
        return address
