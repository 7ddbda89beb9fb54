"""Tasks of every kind end in every way that leaves their workers alive.

python executions.py STORE NUMBER_OF_TASKS
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from typing import Any

from dask_blackbox import recording
from distributed import Client, LocalCluster
from scenario_reports import report, report_card, scaled


def nothing(i: int) -> int:
    return i


def flaky(path: str) -> str:
    """Fail twice, each time in words of its own."""
    tries = len(os.listdir(path))  # noqa: PTH208
    with open(f"{path}/{tries}", "x"):  # noqa: PTH123
        pass
    if tries < 2:
        raise ConnectionError(f"try {tries} failed")
    return "third time lucky"


class UnpicklableError(Exception):
    def __init__(self) -> None:
        super().__init__("holds a lock")
        self.lock = threading.Lock()


def unpicklable() -> None:
    raise UnpicklableError


def chained() -> None:
    empty: dict[str, int] = {}
    try:
        empty["the root of it"] += 1
    except KeyError as error:
        raise RuntimeError("the consequence") from error


def verbose() -> None:
    raise ValueError("A" * 200_000)


def lone_surrogate() -> None:
    logging.getLogger("job").warning("surrogate \udcff %s", "\x00")
    raise ValueError("bytes \udcff that are no text")


def add(a: Any, b: Any) -> Any:
    return a + b


def failed(client: Client, function: Any, *args: Any, **kwargs: Any) -> list[str]:
    future = client.submit(function, *args, pure=False, **kwargs)
    error = future.exception(timeout=scaled(60))
    return [str(future.key), type(error).__name__, str(error)[:200]]


def main(store: str, count: int, folder: str) -> None:
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        with recording(client, store=store, job="executions", run_id="a/b: ü 1") as rec:
            assert sum(client.gather(client.map(nothing, range(count)))) == sum(
                range(count)
            )
            keyed = client.submit(nothing, 7, key=("tuple", 3, "x"))
            assert keyed.result() == 7
            assert client.get({("g", 0): (nothing, 1), ("g", 1): (nothing, 2)}, [("g", 1)]) == [2]  # fmt: skip
            lucky = client.submit(flaky, folder, retries=3, pure=False)
            assert lucky.result() == "third time lucky"
            broken = client.submit(chained, key="chained-root")
            heir = client.submit(add, broken, 1, key="heir")
            assert isinstance(heir.exception(timeout=scaled(60)), RuntimeError)
            report(
                flaky=str(lucky.key),
                unpicklable=failed(client, unpicklable),
                verbose=failed(client, verbose),
                surrogate=failed(client, lone_surrogate),
            )
        report_card(rec)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
