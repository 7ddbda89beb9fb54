"""A scheduler that does not answer for a while keeps its rows, and is asked again."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from dask_blackbox.protocol.messages import Attach
from dask_blackbox.recorder import pulling
from dask_blackbox.recorder.pulling import Puller
from distributed.core import Server

_DEADLINE = 60.0


class _Scheduler:
    """A server of Dask's that can be frozen, and has a row to give when it is not."""

    def __init__(self) -> None:
        self.awake = asyncio.Event()
        self.acknowledgements: list[int] = []
        self.server = Server(handlers={"tap-pull": self.pull, "tap-leave": self.leave})

    async def pull(self, acknowledged: int = 0, **_: Any) -> dict[str, Any]:
        await self.awake.wait()
        self.acknowledgements.append(acknowledged)
        rows = msgspec.msgpack.encode({"event": [[1.0, "user-event", "kept", "{}"]]})
        return {"seq": 1, "rows": rows, "at": 1.0, "waiting": 0, "dropped": {}}

    async def leave(self) -> str:
        return "OK"


@pytest.fixture(autouse=True)
def _impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulling, "_ANSWERING", 0.2)
    monkeypatch.setattr(pulling, "_GIVE_UP_AFTER", 0.5)
    monkeypatch.setattr(pulling, "_RARELY", 0.05)
    monkeypatch.setattr(pulling, "_LAST_CHANCE", 0.2)


def pulled_run(
    folder: Path,
    run_scenario: Callable[[_Scheduler, Puller, list[Any]], Awaitable[None]],
    *,
    interval: float = 0.05,
) -> tuple[Puller, list[Any]]:
    """Let something happen between a scheduler and its puller; return what was reported."""
    reported: list[Any] = []

    def take(source: str, seq: int | None, at: float, rows: Any, dropped: Any) -> None:
        reported.extend(rows.get("event", ()))

    masked: list[str] = []

    async def nothing_to_mask() -> None:
        pass

    async def all_of_it() -> Puller:
        scheduler = _Scheduler()
        await scheduler.server.listen("tcp://127.0.0.1:0")
        try:
            address = scheduler.server.address
            puller = Puller(
                Attach(address=address, tap="tap", pid=os.getpid()),
                take,
                interval=interval,
                profile_interval=600,
                folder=folder,
                mask=masked.extend,
                masks_known=nothing_to_mask,
            )
            pulling_on = asyncio.create_task(puller.run())
            async with asyncio.timeout(_DEADLINE):
                await run_scenario(scheduler, puller, reported)
            puller.stop()
            await pulling_on
            await puller.leave()
        finally:
            await scheduler.server.close()
        return puller

    return asyncio.run(all_of_it()), reported


async def until_reported(reported: list[Any], kind: str) -> None:
    while not any(row[1] == kind for row in reported):  # noqa: ASYNC110 - rows are no event
        await asyncio.sleep(0.01)


def test_what_it_kept_in_silence_is_had_when_it_answers_again(tmp_path: Path) -> None:
    async def run_scenario(
        scheduler: _Scheduler, puller: Puller, reported: list[Any]
    ) -> None:
        await until_reported(reported, "scheduler-unresponsive")
        scheduler.awake.set()
        await until_reported(reported, "scheduler-responded")

    puller, reported = pulled_run(tmp_path, run_scenario)

    assert [row[1] for row in reported] == [
        "scheduler-unresponsive",
        "user-event",
        "scheduler-responded",
    ]
    assert json.loads(reported[-1][3])["lasted"] >= 0.5
    assert puller.account.error is None


def test_a_scheduler_that_stops_answering_is_lost_since_its_last_answer(
    tmp_path: Path,
) -> None:
    async def run_scenario(
        scheduler: _Scheduler, puller: Puller, reported: list[Any]
    ) -> None:
        scheduler.awake.set()
        await until_reported(reported, "user-event")
        scheduler.awake.clear()
        await until_reported(reported, "scheduler-unresponsive")
        puller.stop()
        with pytest.raises(TimeoutError) as error:
            await puller.drain(last=True)
        puller.missed(error.value)

    puller, reported = pulled_run(tmp_path, run_scenario)
    kinds = [row[1] for row in reported]
    lost = reported[kinds.index("scheduler-lost")]

    assert kinds == ["user-event", "scheduler-unresponsive", "scheduler-lost"]
    assert lost[0] < reported[1][0], "it is lost from when it was last asked in vain"
    assert "last rows could not be fetched" in str(puller.account.error)


def test_a_batch_is_acknowledged_by_the_next_pull_and_not_by_one_of_its_own(
    tmp_path: Path,
) -> None:
    acknowledged = []

    async def run_scenario(
        scheduler: _Scheduler, puller: Puller, reported: list[Any]
    ) -> None:
        scheduler.awake.set()
        await until_reported(reported, "user-event")
        acknowledged.append(list(scheduler.acknowledgements))
        await puller.drain(last=True)
        acknowledged.append(list(scheduler.acknowledgements))

    pulled_run(tmp_path, run_scenario, interval=600)

    assert acknowledged == [[0], [0, 1]]
