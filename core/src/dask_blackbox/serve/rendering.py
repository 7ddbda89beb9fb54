"""Pages of runs that have no end, made in a process of its own.

A web server of another system, such as a workflow system's, should neither load
all rows of a run into its memory nor hold its interpreter for the seconds that a report
takes.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress

import msgspec

from dask_blackbox.errors import BlackboxError, RecordingError, StoreError
from dask_blackbox.layout import RunAddress
from dask_blackbox.store import Store, open_store

_TIMEOUT = 120.0
_MEMORY = 4 * 2**30
"""Bytes that making a page may take: a run of a million tasks needs 1 GiB."""


class _Order(msgspec.Struct, kw_only=True):
    settings: dict[str, object]
    address: RunAddress
    page: str
    finish: bool


_ORDERS = msgspec.json.Decoder(_Order)


def rendered_page(
    settings: dict[str, object],
    address: RunAddress,
    page: str,
    *,
    finish: bool = False,
    timeout: float = _TIMEOUT,
) -> bytes:
    """Return a page of a run as it is now.

    Args:
        settings: Of its store, as `store_settings` returns them.
        page: One of `REPORTS`, or `card.json`.
        finish: Finish the recording if its recorder is gone; who may only read the store
            gets the page all the same.
        timeout: Seconds after which it is given up.

    Raises:
        RecordingError: if it cannot be made, with why.
    """
    order = _Order(settings=settings, address=address, page=page, finish=finish)
    try:
        made = subprocess.run(
            [sys.executable, "-P", "-m", "dask_blackbox.serve.rendering"],
            input=msgspec.json.encode(order),
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise RecordingError(
            f"the page could not be rendered within {timeout:.0f} s; try "
            f"`dask blackbox report {address.name}`"
        ) from None
    if made.returncode:
        lines = made.stderr.decode(errors="replace").strip().splitlines()
        if made.returncode < 0:
            lines = [f"its process was ended by signal {-made.returncode}"]
        raise RecordingError(lines[-1] if lines else f"exit code {made.returncode}")
    return made.stdout


def _limit_memory() -> None:
    """Have this process fail, rather than the container that it shares with its parent."""
    import resource

    # Not RLIMIT_AS: libraries reserve many times the address space that they use.
    with suppress(OSError, ValueError):
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        soft = _MEMORY if hard == resource.RLIM_INFINITY else min(_MEMORY, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _main() -> int:
    _limit_memory()
    from dask_blackbox.reader import Run
    from dask_blackbox.reader.unreadable import reading
    from dask_blackbox.serve.cards import card_of_run, report_of_run

    order = _ORDERS.decode(sys.stdin.buffer.read())
    try:
        store = open_store(None, settings=order.settings)
        if order.finish:
            _finish(store, order.address)
        with reading(order.address):
            run = Run.at(store, order.address)
            if order.page == "card.json":
                made = card_of_run(run).to_json()
            else:
                made = report_of_run(run, order.page)
    except BlackboxError as error:
        print(error, file=sys.stderr)  # noqa: T201 - to our parent
        return 1
    sys.stdout.buffer.write(made)
    return 0


def _finish(store: Store, address: RunAddress) -> None:
    from dask_blackbox.manifest import STALE
    from dask_blackbox.recorder.unfinished_runs import finish_lost_run

    try:
        finish_lost_run(store, address, silent=STALE)
    except (StoreError, OSError) as error:
        # Who may only read it sees the same, made again each time.
        print(error, file=sys.stderr)  # noqa: T201


if __name__ == "__main__":
    sys.exit(_main())
