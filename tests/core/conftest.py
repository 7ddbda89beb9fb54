"""Recordings in a local folder, written as the recorder lays them out."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from dask_blackbox.attach import RunCard
from dask_blackbox.layout import RunAddress, index_names
from dask_blackbox.manifest import Ending, Manifest
from dask_blackbox.segments import SegmentWriter
from dask_blackbox.store import Store, open_store

FINAL = frozenset({"succeeded", "failed", "aborted"})


class Shelf:
    """A store to put recordings on."""

    def __init__(self, folder: Path) -> None:
        self.url = str(folder)
        self.store: Store = open_store(folder)

    def record(
        self,
        job: str = "nightly",
        run_id: str = "run-1",
        *,
        attempt: int = 1,
        started: float = 1_795_230_000.0,
        state: str = "succeeded",
        rows: dict[str, list[Any]] | None = None,
        **on_the_card: Any,
    ) -> RunAddress:
        """Write a recording; `running` has a fresh heartbeat, `lost` a stale one."""
        manifest = Manifest(
            recording=f"{job}-{run_id}-{attempt}",
            job=job,
            run_id=run_id,
            attempt=attempt,
            started=started,
        )
        address = RunAddress.of(job, run_id, attempt)
        put, folder = self.store.put, address.folder
        put(f"{folder}run.json", msgspec.json.encode(manifest))
        segment = SegmentWriter(manifest.recording, 1)
        segment.append("scheduler", 1, started + 1, rows or {})
        put(f"{folder}segments/r1-000001.seg", segment.close())
        beat = time.time() if state == "running" else started + 5
        put(f"{folder}heartbeat.json", json.dumps({"at": beat}).encode())
        self._mark(address, started, "running")
        if state in FINAL:
            self._end(manifest, address, state, on_the_card)
        return address

    def _end(
        self, manifest: Manifest, address: RunAddress, state: Any, facts: dict[str, Any]
    ) -> None:
        facts = {"headline": f"it {state}", "numbers": {"duration": 192.0}} | facts
        card = RunCard(
            job=manifest.job,
            run_id=manifest.run_id,
            attempt=manifest.attempt,
            state=state,
            completeness={"recorded": True, "complete": True},
            **facts,
        )
        ending = Ending(state=state, ended=manifest.started + 192)
        put, folder = self.store.put, address.folder
        put(f"{folder}card.json", card.to_json())
        put(f"{folder}report.html", b"<!doctype html><p>the stored report")
        put(f"{folder}complete.json", msgspec.json.encode(ending))
        self._mark(address, manifest.started, state)

    def _mark(self, address: RunAddress, started: float, state: str) -> None:
        for name in index_names(address, started, state):
            self.store.put(name, b"")


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    """Return an empty store in a folder."""
    return Shelf(tmp_path / "store")


@pytest.fixture
def log_row() -> Callable[..., list[Any]]:
    """Return a maker of rows of the kind `log`."""

    def row(
        at: float,
        message: str,
        *,
        level: int = 20,
        source: str = "scheduler",
        role: str = "scheduler",
        logger: str = "distributed.scheduler",
        key: str | None = None,
    ) -> list[Any]:
        return [at, role, source, 1, 0, logger, level, message, key]

    return row
