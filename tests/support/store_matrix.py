"""The store matrix: faults of the store, with their times; and what must be recorded anyway.

    python tests/support/store_matrix.py
    python tests/support/store_matrix.py --only silence

records real runs on one cluster, through a proxy that fails as it is asked to, and prints
what is not as it should be.  `test_store_faults.py` runs a part of it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask
from click.testing import CliRunner, Result
from conditions import until
from dask.distributed import Client, LocalCluster
from dask_blackbox import Run, RunCard, recording
from dask_blackbox.cli.sync import sync
from dask_blackbox.testing import (
    EmbeddedS3,
    FaultyS3,
    Trouble,
    embedded_s3,
    faults,
    faulty_s3,
)
from dask_blackbox.testing.faults import Fault

__all__ = ["FAULTS", "SECRET", "FinishedRun", "Range", "a_range", "finished_run"]

FAULTS: dict[str, Fault | None] = {
    "slow down": faults.slow_down,
    "internal error": faults.internal_error,
    "access denied": faults.access_denied,
    "expired token": faults.expired_token,
    "bucket gone": faults.no_such_bucket,
    "clock skewed": faults.skewed_clock,
    "other region": faults.other_region,
    "silence": faults.silence,
    "upload reset": faults.upload_reset(64),
    "answer lost": faults.answer_lost,
    "answer cut off": faults.answer_cut_off(40),
    "garbled": faults.garbled,
    "web page": faults.web_page,
    "dripping": faults.answer_dripping(0.5),
    "refused": None,
}
"""What is wrong, by name; None: nobody listens."""

HASTY = {"read-timeout": 2, "connect-timeout": 2, "attempts": 1}
SEGMENTS = "*/segments/*.seg"
KEY = "AKIAIOSFODNN7EXAMPLE"
SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
_RESULT = 2 * sum(range(20)) + 42


@dataclass
class Range:
    """A cluster, and a store that can be asked to fail.

    Attributes:
        client: Of the cluster.
        proxy: In front of the store.
        spool: Where recordings wait.
    """

    client: Client
    proxy: FaultyS3
    spool: Path

    @property
    def settings(self) -> dict[str, Any]:
        """How the store is reached."""
        known = {"key": KEY, "secret": SECRET}
        return self.proxy.server.settings | HASTY | known

    def blobs(self, prefix: str = "") -> dict[str, bytes]:
        """Return what the store holds, whatever is wrong with the way to it."""
        s3, bucket = self.proxy.behind.client(), self.proxy.behind.bucket
        pages = s3.get_paginator("list_objects_v2").paginate(
            Bucket=bucket, Prefix=prefix
        )
        names = [each["Key"] for page in pages for each in page.get("Contents", ())]
        return {
            name: s3.get_object(Bucket=bucket, Key=name)["Body"].read()
            for name in names
        }

    def sync(self, *options: str) -> Result:
        """Run `dask blackbox sync`."""
        ours = {f"store.{name}": value for name, value in self.settings.items()}
        with dask.config.set({f"blackbox.{name}": v for name, v in ours.items()}):
            return CliRunner().invoke(
                sync, ["--spool", str(self.spool), *options], catch_exceptions=False
            )


@contextmanager
def a_range(server: EmbeddedS3, folder: Path) -> Iterator[Range]:
    """Start a cluster and a proxy."""
    spool = folder / "spool"
    with (
        dask.config.set({"blackbox.spool": str(spool)}),
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as c,
        Client(c) as client,
        faulty_s3(server) as proxy,
    ):
        yield Range(client, proxy, spool)


@dataclass
class FinishedRun:
    """A recording that was made through trouble.

    Attributes:
        card: That the driver got.
        result: Of the run's own work.
        running: The card in the midst of it.
        down: Whether the store still failed when the user's work had ended.
    """

    card: RunCard
    result: int
    running: RunCard
    down: bool

    @property
    def folder(self) -> str:
        """Of the recording in the store."""
        return f"runs/job={self.card.job}/run={self.card.run_id}/attempt=1/"


def _double(i: int) -> int:
    return 2 * i


def finished_run(
    place: Range,
    name: str,
    *,
    first: str | None = None,
    passing: Sequence[str] = (),
    last: str | None = None,
    at_the_end: str | None = None,
    names: str = "*",
    in_the_midst: Callable[[], None] = lambda: None,
) -> FinishedRun:
    """Record a run through trouble, each a name in `FAULTS`.

    Args:
        place: Where.
        name: Of the run.
        first: Is there from the start, and passes.
        passing: Come in the midst of the run, one after the other, and pass.
        last: Comes in the midst of the run, and stays.
        at_the_end: Comes when the user's work has ended, and stays.
        names: Of the blobs that those which stay are about.
        in_the_midst: Is done in the midst of the run.
    """
    begin = _Beginning(place)
    if first is not None:
        begin(first)
    rec = recording(
        place.client,
        store=place.proxy.server.url,
        store_settings=place.settings,
        job="matrix",
        run_id=name,
    )
    rec.start()
    tasks = place.client.map(_double, range(20), pure=False)
    result = sum(place.client.gather(tasks))
    if first is not None:
        begin.pass_by(lambda: _something(rec))
    for each in passing:
        begin(each)
        begin.pass_by(lambda: _something(rec))
    in_the_midst()
    running = rec.card
    if last is not None:
        begin(last, names)
        _something(rec)
        begin.noticed()
    result += place.client.submit(_double, 21, pure=False).result()
    down = begin.going_on
    if at_the_end is not None:
        begin(at_the_end, names)
    return FinishedRun(rec.finish(), result, running, down)


def _something(rec: Any) -> None:
    """Let something abnormal happen: its segment leaves after a second, not after five."""
    rec.task_failed("double-1", "double", ValueError("not that bad"))


class _Beginning:
    """Troubles that begin, are noticed by the recorder, and pass."""

    def __init__(self, place: Range) -> None:
        self._place, self._trouble = place, Trouble(faults.silence)
        self._asked = 0
        self.going_on = False

    def __call__(self, name: str, names: str = "*") -> None:
        fault, proxy = FAULTS[name], self._place.proxy
        self.going_on = True
        if fault is None:
            proxy.refuse()
        else:
            self._trouble = proxy.begin(fault, names=names)
        self._refused, self._before = fault is None, self._complaints()

    def noticed(self) -> None:
        """Wait until the recorder has met it twice: it goes on trying."""
        if self._refused:
            until(lambda: self._complaints() > self._before, "a complaint")
        else:
            until(lambda: self._trouble.met > 1, "requests that meet the trouble")

    def pass_by(self, something: Callable[[], None]) -> None:
        """Let it be noticed and end; wait until segments are uploaded again."""
        something()
        self.noticed()
        proxy = self._place.proxy
        before = proxy.count(SEGMENTS)
        proxy.work()
        self.going_on = False
        something()
        until(lambda: proxy.count(SEGMENTS) > before, "uploads to go on")

    def _complaints(self) -> int:
        logs = self._place.spool.glob("*/recorder.log")
        return sum(each.read_text().count("the store fails") for each in logs)


def _tried(place: Range, name: str, how: str) -> list[str]:
    """Record a run through one trouble; return what is not as it should be."""
    run_id = f"{name} {how}".replace(" ", "-")
    reported = {how: [name] if how == "passing" else name}
    finished = finished_run(place, run_id, **reported)  # type: ignore[arg-type]
    place.proxy.work()
    stays = how in {"last", "at_the_end"}
    wrong = []
    if finished.result != _RESULT or finished.card.state != "succeeded":
        wrong.append(f"the run: {finished.result}, {finished.card.state}")
    if stays != ("reason" in finished.card.completeness):
        wrong.append(f"the card says {finished.card.completeness}")
    if stays:
        if not list(place.spool.glob("*/segments/*.seg")):
            wrong.append("nothing in the spool")
        synced = place.sync()
        if synced.exit_code:
            wrong.append(f"sync: {synced.output}")
    run = Run.open(
        f"{place.proxy.behind.url}/{finished.folder}",
        settings=place.proxy.behind.settings,
    )
    if (
        run.completeness != {"recorded": True, "kept": "store", "complete": True}
        or run.verify()
    ):
        wrong.append(f"the recording: {run.completeness}, {run.verify()}")
    if left := list(place.spool.glob("*/run.json")):
        wrong.append(f"left in the spool: {left}")
    return wrong


def main() -> int:
    """Fly the matrix; print what is wrong; return how many rows are."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", default="", help="rows whose name contains this")
    only, failed = options.parse_args().only, 0
    with (
        tempfile.TemporaryDirectory() as folder,
        embedded_s3() as server,
        a_range(server, Path(folder)) as place,
    ):
        for name in FAULTS:
            for how in ("first", "passing", "last", "at_the_end"):
                if only not in f"{name} {how}":
                    continue
                begun = time.monotonic()
                wrong = _tried(place, name, how)
                failed += bool(wrong)
                said = "; ".join(wrong) or "as it should be"
                print(f"{time.monotonic() - begun:5.1f} s  {name}, {how}: {said}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
