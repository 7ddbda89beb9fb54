"""Waits for the values to mask that a driver knows before rows that may hold them are written.

A driver sends such values by its own connection, and uses them on a cluster whose rows come
by another one: those may overtake the values when one of the processes is busy.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging

from dask_blackbox.protocol.messages import Answer, Reply

logger = logging.getLogger("dask_blackbox.recorder")

_LONGEST_WAIT = 10.0
"""Seconds: the threads of a driver that is stopped, or in a long call of C, do not answer."""


class MaskConfirmations:
    """Asks drivers whether all values that they have masked by now have been sent.

    Args:
        longest_wait: Seconds to wait for an answer.
    """

    def __init__(self, longest_wait: float = _LONGEST_WAIT) -> None:
        self._longest_wait = longest_wait
        self._numbers = itertools.count(1)
        self._drivers: set[Answer] = set()
        self._late: set[Answer] = set()
        self._waiting: dict[int, tuple[set[Answer], asyncio.Event]] = {}

    def connected(self, driver: Answer) -> None:
        """Ask this one from now on."""
        self._drivers.add(driver)

    def left(self, driver: Answer) -> None:
        """Ask this one no more: it has sent all that it will send."""
        self._drivers.discard(driver)
        self._late.discard(driver)
        for number in list(self._waiting):
            self.confirmed(driver, number)

    def confirmed(self, driver: Answer, number: int) -> None:
        """Take an answer."""
        self._late.discard(driver)
        if number in self._waiting:
            missing, all_sent = self._waiting[number]
            missing.discard(driver)
            if not missing:
                all_sent.set()

    def is_late(self, driver: Answer) -> bool:
        """Return whether rows have been written without an answer of this driver."""
        return driver in self._late

    async def wait(self) -> None:
        """Return when all values that drivers have masked by now are known.

        One that has not answered in time is not waited for again until it does.
        """
        number = next(self._numbers)
        missing = self._drivers - self._late
        if not missing:
            return
        all_sent = asyncio.Event()
        self._waiting[number] = missing, all_sent
        try:
            for driver in [*missing]:
                with contextlib.suppress(OSError):
                    driver(Reply(what="masks", number=number))
            async with asyncio.timeout(self._longest_wait):
                await all_sent.wait()
        except TimeoutError:
            logger.warning(
                "a driver has not confirmed for %g s which values it masks",
                self._longest_wait,
            )
            self._late |= missing & self._drivers
        finally:
            del self._waiting[number]
