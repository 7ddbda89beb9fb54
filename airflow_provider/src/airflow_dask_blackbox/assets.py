"""Rows, bytes and files that a task wrote, for its asset event.

The asset's own URI is looked at, as far as fsspec can open it: what was written there since
the task began.  Rows come from the footers of Parquet files.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from dask_blackbox.guard import guard

__all__ = ["measure_assets"]

_TIMEOUT: Final = 5.0
"""Seconds for all assets of a task: their events do not wait longer."""
_MOST_FILES: Final = 10_000
_MOST_FOOTERS: Final = 200
_CLOCK: Final = 2.0
"""Seconds by which the clock of a store may be behind."""


def measure_assets(
    context: Mapping[str, Any], outlets: Iterable[Any], began: float, page: str
) -> None:
    """Add to the events of a task's assets what it wrote; the task's own words stay.

    Args:
        context: Of the task.
        outlets: Its assets.
        began: When it began, epoch seconds.
        page: Address of its Dask run.
    """
    from airflow.sdk import Asset

    assets = [each for each in outlets if isinstance(each, Asset)]
    measured: dict[str, dict[str, int]] = {}
    thread = threading.Thread(
        target=_measure_all, args=(assets, began, measured), daemon=True
    )
    if assets:
        thread.start()
        thread.join(_TIMEOUT)
    with guard("what asset events say of the Dask run"):
        for asset in assets:
            extra = context["outlet_events"][asset].extra
            known = {"dask_run": page, **measured.get(asset.uri, {})}
            extra.update(
                {name: value for name, value in known.items() if name not in extra}
            )


def _measure_all(
    assets: Iterable[Any], began: float, measured: dict[str, dict[str, int]]
) -> None:
    for asset in assets:
        try:
            measured[asset.uri] = _written(asset.uri, began)
        except Exception:  # noqa: BLE001, S112 - a URI is a name first: no place need be there
            continue


def _written(uri: str, began: float) -> dict[str, int]:
    """Return what was written at a place since then; nothing if that is not known.

    Raises:
        Exception: whatever looking there raises.
    """
    import fsspec  # Dask brings it along

    opened: Any = fsspec.core.url_to_fs
    files, path = opened(uri)
    sizes: dict[str, int] = {}
    for name, facts in files.find(path, detail=True).items():
        if _modified(facts) >= began - _CLOCK:
            sizes[name] = int(facts["size"])
        if len(sizes) > _MOST_FILES:
            return {}
    if not sizes:
        return {}
    found = {"files": len(sizes), "bytes": sum(sizes.values())}
    rows = _rows(files, list(sizes))
    return found if rows is None else {**found, "rows": rows}


def _modified(facts: Mapping[str, Any]) -> float:
    """Return when a file was written, as its file system tells it; 0: nobody knows."""
    at = facts.get("mtime") or facts.get("LastModified") or facts.get("updated") or 0.0
    return at.timestamp() if isinstance(at, datetime) else float(at)


def _rows(files: Any, names: list[str]) -> int | None:
    data = [
        name for name in names if not name.rsplit("/", 1)[-1].startswith(("_", "."))
    ]
    if not data or len(data) > _MOST_FOOTERS:
        return None
    if not all(name.endswith((".parquet", ".parq")) for name in data):
        return None
    from pyarrow import parquet

    read: Any = parquet.read_metadata
    return sum(int(read(name, filesystem=files).num_rows) for name in data)
