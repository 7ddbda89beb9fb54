"""A run's reports: as they were written, or made now where nobody could write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dask_blackbox.errors import BlobNotFoundError
from dask_blackbox.layout import RunAddress
from dask_blackbox.store import Store

if TYPE_CHECKING:  # polars comes with it
    from dask_blackbox.opened import Run

__all__ = ["REPORTS", "is_final", "stored_or_rendered"]

REPORTS = ("report.html", "performance_report.html")


def is_final(store: Store, address: RunAddress) -> bool:
    """Tell whether the recorder came to the end of this run."""
    try:
        store.get(f"{address.folder}complete.json")
    except BlobNotFoundError:
        return False
    return True


def stored_or_rendered(
    store: Store, address: RunAddress, name: str, opened: Callable[[], Run]
) -> bytes:
    """Return one of the `REPORTS` of a run.

    Before the end of a run, the page in the store only says that it goes on; of a lost
    run, nothing else will ever be there.
    """
    if is_final(store, address):
        try:
            return store.get(f"{address.folder}{name}")
        except BlobNotFoundError:
            pass  # not worth more than rendering it again
    from dask_blackbox.report import html, performance_html

    run = opened()
    render = html if name == "report.html" else performance_html
    return render(run, run.card()).encode("utf-8", "replace")
