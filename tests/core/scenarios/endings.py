"""A driver ends in every way, without any Dask: what it ends with must stay its own.

python endings.py STORE HOW
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

from dask_blackbox import recording
from dask_blackbox.errors import BlackboxError
from scenario_reports import report, report_card


class UntellableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def raise_(error: BaseException) -> None:
    raise error


def signalled(number: int) -> None:
    os.kill(os.getpid(), number)
    time.sleep(60)


ENDS: dict[str, Callable[[], Any]] = {
    "fine": lambda: "the result",
    "raise": lambda: raise_(LookupError("the user's own")),
    "interrupt": lambda: raise_(KeyboardInterrupt()),
    "untellable": lambda: raise_(UntellableError()),
    "surrogate": lambda: raise_(ValueError("not \udcff text")),
    "exit-0": lambda: sys.exit(0),
    "exit-3": lambda: sys.exit(3),
    "exit-none": sys.exit,
    "exit-text": lambda: sys.exit("a last word"),
    "sigkill": lambda: signalled(9),
    "sigterm": lambda: signalled(15),
}


def main(store: str | None, how: str) -> None:
    begun = time.monotonic()
    circle: dict[str, Any] = {}
    circle["again"] = circle
    rec = recording(
        store=store or None,
        job=os.environ.get("JOB", "endings"),
        run_id=how,
        required=True if "REQUIRED" in os.environ else None,
        parameters={"how": how, "odd": {("a", 1): b"\xff"}, "circle": circle},
        host={"kind": "test", "odd": object()},
    )
    try:
        rec.start()
    except BlackboxError as error:
        report(refused=f"{type(error).__name__}: {error}")
        raise
    started = time.monotonic()
    report(started=started - begun, running=rec.card.headline, links=rec.links)
    try:
        report(result=ENDS[how]())
        rec.finish()
    except BaseException as error:
        rec.finish(error)
        raise
    finally:
        report_card(rec, finished=time.monotonic() - started)


if __name__ == "__main__":
    main(*sys.argv[1:])
