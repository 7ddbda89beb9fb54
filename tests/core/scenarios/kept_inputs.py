"""Tasks of every kind that raise, each in a recording of its own; values are kept.

python kept_inputs.py STORE
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask
from dask_blackbox import recording
from distributed import Client, LocalCluster
from scenario_reports import report

MARK = "mark-of-the-values-4711"
PLACE = Path(sys.argv[1])


class Customer:
    """A type that the user leaves out by name."""

    def __init__(self, name: str) -> None:
        self.name = name


class Regular(Customer):
    """Left out by its base class."""


class Session:
    """Holds a secret in an attribute, and another in a text."""

    def __init__(self, password: str, url: str) -> None:
        self.password, self.url = password, url


class NeverPickled:
    """Holds its pickling up forever."""

    def __reduce__(self) -> Any:
        threading.Event().wait()


def load(n: int) -> dict[str, Any]:
    return {"rows": list(range(n)), "mark": MARK}


def check(data: dict[str, Any], most: int) -> None:
    if len(data["rows"]) > most:
        raise LookupError(f"{len(data['rows'])} rows are more than {most}")


def check_in_turn(data: dict[str, Any], most: int, attempts: str) -> None:
    with Path(attempts).open("a") as file:
        file.write("tried\n")
    check(data, most)


def lock() -> Any:
    return threading.Lock()


def use(held: Any, number: int) -> None:
    raise RuntimeError(f"not with number {number}")


def block(size: int) -> bytes:
    return bytes(size)


def welcome(
    who: Customer, session: Session, options: dict[str, Any], badge: str, n: int
) -> None:
    raise ValueError(f"nobody is welcome, {n} times")


def die() -> None:
    os._exit(9)


def halve(part: Any) -> Any:
    if part["x"].max() > 5:
        raise ArithmeticError(f"{part['x'].max()} cannot be halved")
    return part / 2


def delayed(client: Client) -> None:
    data = dask.delayed(load)(10)
    dask.delayed(check)(data, most=5).compute(optimize_graph=False)


def futures(client: Client) -> None:
    data = client.submit(load, 7, key=("load", 0))
    client.submit(check, data, 5, key=("check_future", 0)).result()


def dataframe(client: Client) -> None:
    import dask.dataframe as dd
    import pandas as pd

    frame = dd.from_pandas(pd.DataFrame({"x": range(8)}), npartitions=2)
    frame.map_partitions(halve, meta={"x": float}).compute()


def retried(client: Client) -> None:
    data = client.submit(load, 9)
    attempts = str(PLACE / "attempts")
    client.submit(check_in_turn, data, 5, attempts, retries=2).result()


def unpicklable(client: Client) -> None:
    worker = next(iter(client.scheduler_info()["workers"]))
    held = client.submit(lock, workers=[worker])
    client.submit(use, held, 3, workers=[worker]).result()


def large(client: Client) -> None:
    client.submit(use, client.submit(block, 4 * 2**20), 4).result()


def redacted(client: Client) -> None:
    who = client.submit(Regular, "Ada Lovelace")
    options = {"api_key": "key-of-the-service", "plain": MARK}
    session = Session("hunter-two", "https://x/?id=AKIAZQ3DUMMYKEY4TEST")
    client.submit(welcome, who, session, options, "badge 4711081512", 17).result()


def off(client: Client) -> None:
    delayed(client)


def killed(client: Client) -> None:
    """Raise with what cannot be pickled in time, then take the worker along."""
    worker = next(iter(client.scheduler_info()["workers"]))
    held = client.submit(NeverPickled, workers=[worker])
    with contextlib.suppress(RuntimeError):
        client.submit(use, held, 5, workers=[worker]).result()
    client.submit(die, workers=[worker], retries=0).result()


def others(client: Client) -> None:
    """Raise what is ours; somebody else's raises first."""
    address = client.scheduler_info()["address"]
    code = (
        "from distributed import Client; import operator\n"
        f"with Client({address!r}) as c:\n"
        "    print(repr(c.submit(operator.truediv, 1, 0, key='theirs-1').exception()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "ZeroDivisionError" in done.stdout, done.stderr
    delayed(client)


ON: dict[str, Any] = {"blackbox.capture.values": True}
RUNS: dict[str, tuple[list[Callable[[Client], None]], dict[str, Any]]] = {
    "many": (
        [futures, dataframe, retried, unpicklable, delayed],
        ON | {"blackbox.capture.values-count": 8},
    ),
    "limited": (
        [large, redacted],
        ON
        | {
            "blackbox.capture.values-limit": "1 MiB",
            "blackbox.capture.values-redact": [r".*\.Customer"],
            "blackbox.redact": [r"badge \d+"],
        },
    ),
    "others": ([others], ON),
    "off": ([off], {}),
    "killed": ([killed], ON),
}
"""Recordings: what happens in each, and with which settings."""


def main(store: str) -> None:
    dask.config.set({"distributed.scheduler.allowed-failures": 0})
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        for name, (cases, settings) in RUNS.items():
            place = f"{store}/off" if name == "off" else f"{store}/on"
            with dask.config.set(settings):
                rec = recording(client, store=place, job=name, run_id="run")
                with contextlib.suppress(Exception), rec:
                    for case in cases[:-1]:
                        with contextlib.suppress(Exception):
                            case(client)
                    cases[-1](client)
            report(**{name: rec.card.links["recording"]})


if __name__ == "__main__":
    PLACE.mkdir()
    main(sys.argv[1])
