"""Nightly runs of a job on a real cluster, one recording each, for tests of its history.

A package of the job's own lies in a `site-packages` folder, so that it can be another
version the next night.
"""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from dask_blackbox import RunCard, recording
from distributed import Client, LocalCluster

__all__ = ["Nights", "nights"]

_PACKAGE = """
def clean(rows):
    {body}
    return rows


def total(rows):
    return sum(clean(rows))
"""
_BROKEN = 'raise ValueError(f"no column {rows[0]} in part {id(rows)}")'


def load(part: int, rows: int) -> list[int]:
    """Return a part of the night's input."""
    return list(range(part, part + rows))


class Nights:
    """A job that runs night after night.

    Args:
        client: Of its cluster.
        store: Where it is recorded.
        packages: A folder of installed packages, on `sys.path`.
        job: Its name.
    """

    def __init__(
        self, client: Client, store: str, packages: Path, job: str = "nightly"
    ) -> None:
        self.client, self.store, self.packages, self.job = client, store, packages, job
        self.number = 0
        self.install("1.2.0")

    def install(self, version: str, *, broken: bool = False) -> None:
        """Put another version of the job's package in place of the one that is there."""
        for old in self.packages.glob("shoptools*"):
            shutil.rmtree(old)
        code = self.packages / "shoptools"
        code.mkdir()
        body = _BROKEN if broken else "assert rows"
        (code / "__init__.py").write_text(_PACKAGE.format(body=body))
        about = self.packages / f"shoptools-{version}.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Name: shoptools\nVersion: {version}\n")
        importlib.invalidate_caches()
        sys.modules.pop("shoptools", None)
        sys.dont_write_bytecode = True  # of two versions in one second, one would stay

    def night(
        self, *, rows: int = 1000, parts: int = 4, attempt: int = 1, **parameters: Any
    ) -> RunCard:
        """Run once more, and return the card."""
        self.number += attempt == 1
        day = f"2026-11-{self.number:02d}"
        shop: ModuleType = importlib.import_module("shoptools")
        given = {"day": day, "out": f"s3://shop/{day}/", "rows": rows, **parameters}
        with (
            suppress(ValueError),
            recording(
                self.client,
                store=self.store,
                job=self.job,
                run_id=f"scheduled__{day}T02:00:00+00:00",
                attempt=attempt,
                parameters=given,
            ) as finished,
        ):
            keys = [f"load-{day}-{part}" for part in range(parts)]
            loaded = [
                self.client.submit(load, part, rows, key=key)
                for part, key in enumerate(keys)
            ]
            self.client.gather(self.client.map(shop.total, loaded, pure=False))
        return finished.card


@contextmanager
def nights(folder: Path, *, store: str | None = None) -> Iterator[Nights]:
    """Yield a job with a cluster of its own.

    Args:
        folder: Where its packages lie, and its recordings, if there is no store.
        store: Where it is recorded.
    """
    packages = folder / "site-packages"
    packages.mkdir(parents=True)
    sys.path.insert(0, str(packages))
    options: dict[str, Any] = {"n_workers": 1, "threads_per_worker": 2}
    try:
        with (
            LocalCluster(processes=False, dashboard_address=":0", **options) as cluster,
            Client(cluster) as client,
        ):
            yield Nights(client, store or str(folder / "store"), packages)
    finally:
        sys.path.remove(str(packages))
        sys.modules.pop("shoptools", None)
