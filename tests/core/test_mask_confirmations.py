"""When rows may be written: after the values that drivers mask have arrived."""

from __future__ import annotations

import asyncio

from dask_blackbox.protocol.messages import Reply
from dask_blackbox.recorder.redact import MaskConfirmations


class Driver:
    """A driver that keeps what it is asked."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def __call__(self, reply: Reply) -> None:
        self.asked.append(reply.number)


def test_rows_wait_for_every_driver() -> None:
    async def asking() -> None:
        masks, first, second = MaskConfirmations(), Driver(), Driver()
        masks.connected(first)
        masks.connected(second)
        waiting = asyncio.create_task(masks.wait())
        await asyncio.sleep(0)

        masks.confirmed(first, first.asked[-1])
        await asyncio.sleep(0)
        assert not waiting.done()
        masks.confirmed(second, second.asked[-1])
        await waiting

    asyncio.run(asking())


def test_a_driver_that_has_left_is_not_waited_for() -> None:
    async def asking() -> None:
        masks, driver = MaskConfirmations(), Driver()
        masks.connected(driver)
        waiting = asyncio.create_task(masks.wait())
        await asyncio.sleep(0)

        masks.left(driver)
        await waiting
        await masks.wait()
        assert len(driver.asked) == 1

    asyncio.run(asking())


def test_a_driver_that_does_not_answer_delays_rows_once_until_it_does() -> None:
    async def asking() -> None:
        masks, driver = MaskConfirmations(longest_wait=0.01), Driver()
        masks.connected(driver)

        await masks.wait()
        await masks.wait()
        assert len(driver.asked) == 1
        assert masks.is_late(driver)
        masks.confirmed(driver, driver.asked[-1])
        assert not masks.is_late(driver)
        await masks.wait()
        assert len(driver.asked) == 2

    asyncio.run(asking())
