"""Workers without a nanny die, each in a way of its own.

python workers_without_nannies.py STORE
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable

from dask_blackbox import recording
from distributed import Client, KilledWorker
from scenario_reports import commands_cluster, report, report_card, scaled


def exit_with_0() -> None:
    os._exit(0)


def exit_with_3() -> None:
    os._exit(3)


def fault() -> None:
    ctypes.string_at(0)


def abort() -> None:
    os.abort()


WAYS = (exit_with_0, exit_with_3, fault, abort)


def killed(client: Client, function: Callable[[], None]) -> str:
    try:
        client.submit(function, pure=False).result(timeout=scaled(60))
    except KilledWorker as error:
        return str(error.task)
    raise AssertionError(function)


def main(store: str) -> None:
    with (
        commands_cluster("--no-nanny", workers=len(WAYS)) as address,
        Client(address) as client,
    ):
        client.wait_for_workers(len(WAYS))
        with recording(client, store=store, job="lonely") as rec:
            report(keys={each.__name__: killed(client, each) for each in WAYS})
        report_card(rec)


if __name__ == "__main__":
    main(sys.argv[1])
