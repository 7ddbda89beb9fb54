"""A client's work on a cluster of other versions: only functions that every Python has.

python skewed.py ADDRESS [STORE]    with STORE it records itself; else it needs no blackbox

Runs in environments that hold nothing but `distributed`, of any version and Python.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from distributed import Client

_TIMEOUT = 20
STEPS: dict[str, Callable[[Client], Any]] = {
    "sum": lambda c: c.submit(sum, [1, 2, 3]).result(timeout=_TIMEOUT),
    "map": lambda c: c.gather(c.map(abs, range(-20, 0))),
    "print": lambda c: c.submit(print, "printed by a task").result(timeout=_TIMEOUT),
    "log": lambda c: c.submit(logging.warning, "logged by a task").result(
        timeout=_TIMEOUT
    ),
    "sleep": lambda c: c.submit(time.sleep, 3).result(timeout=_TIMEOUT),
    "error": lambda c: c.submit(divmod, 1, 0).result(timeout=_TIMEOUT),
    "own function": lambda c: c.submit(lambda: 5).result(timeout=_TIMEOUT),
    "exit": lambda c: c.submit(os._exit, 7).result(timeout=_TIMEOUT),
}


def main(address: str, store: str | None = None) -> None:
    """Compute what can be computed there, and tell what could."""
    reported: dict[str, Any] = {"steps": {}}
    try:
        client = Client(address, timeout=15)
    except Exception as error:  # noqa: BLE001 - Dask's, of any kind
        reported["refused"] = f"{type(error).__name__}: {error}"
        _tell(reported)
        return
    rec: Any = None
    if store is not None:
        from dask_blackbox import recording

        rec = recording(client, store=store, job="skewed")
        rec.start()
    for name, step in STEPS.items():
        try:
            reported["steps"][name] = repr(step(client))
        except Exception as error:  # noqa: BLE001 - as above
            reported["steps"][name] = type(error).__name__
    if rec is not None:
        reported["card"] = json.loads(rec.finish().to_json())
    _tell(reported)
    client.close()


def _tell(reported: dict[str, Any]) -> None:
    Path(os.environ["SCENARIO_REPORTED"]).write_text(json.dumps(reported))


if __name__ == "__main__":
    main(*sys.argv[1:])
