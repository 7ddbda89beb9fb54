"""Recount of the municipal ballots: scan, quarantine, tally in two ways, compare."""

from __future__ import annotations

import argparse
import logging
import random
import tempfile
import time
import warnings
from concurrent.futures import CancelledError
from pathlib import Path

import dask
from dask.distributed import Client, LocalCluster, as_completed, wait

log = logging.getLogger("recount")

LISTS = ["oak", "river", "mill", "hill"]


class SmudgedBox(ValueError):
    """The scanner cannot read the box's slips; people have to count them."""


def scan_box(box: int, marks: str) -> dict[str, int]:
    """Scan a box.  Every seventh scanner jams once, every ninth box is smudged."""
    time.sleep(0.15)
    if box % 7 == 2:
        jam = Path(marks) / f"jam-{box}"
        if not jam.exists():
            jam.touch()
            raise OSError(f"scanner of box {box} is jammed")
    if box % 9 == 5:
        raise SmudgedBox(f"box {box}: more than half of the slips are smudged")
    rng = random.Random(box)
    if box % 10 == 0:
        warnings.warn(f"box {box}: seal number was typed in by hand", stacklevel=1)
    return {name: rng.randint(20, 400) for name in LISTS}


def count_by_hand(box: int) -> dict[str, int]:
    time.sleep(0.3)
    rng = random.Random(box)
    return {name: rng.randint(20, 400) for name in LISTS}


def add_up(counts: list[dict[str, int]]) -> dict[str, int]:
    return {name: sum(c[name] for c in counts) for name in LISTS}


def tally(counts: list[dict[str, int]], seconds: float) -> dict[str, int]:
    """Tally at the pace of the given counting service."""
    for _ in range(int(seconds / 0.1)):
        time.sleep(0.1)
    return add_up(counts)


def scan_all(
    client: Client, boxes: int, marks: str
) -> tuple[dict[int, dict], list[int]]:
    scans = {
        client.submit(scan_box, b, marks, key=f"scan_box-{b:03d}", retries=2): b
        for b in range(boxes)
    }
    good, smudged = {}, []
    for future in as_completed(scans):
        if future.status == "error":
            error = future.exception()
            if not isinstance(error, SmudgedBox):
                raise error
            log.error("quarantine: %s", error)
            smudged.append(scans[future])
        else:
            good[scans[future]] = future.result()
    return good, smudged


def fastest_tally(client: Client, counts: list[dict]) -> dict[str, int]:
    """Both counting services get the job, the first answer is taken."""
    services = {"town": 1.0, "county": 30.0}
    races = {
        n: client.submit(tally, counts, s, key=f"tally-{n}", pure=False)
        for n, s in services.items()
    }
    try:
        wait(list(races.values()), timeout=0.5)
    except TimeoutError:
        log.warning("no tally after half a second, still waiting")
    winner = next(as_completed(list(races.values())))
    answer = winner.result()
    losers = [f for f in races.values() if f.key != winner.key]
    client.cancel(losers)
    for loser in losers:
        try:
            loser.result(timeout=5)
        except (CancelledError, TimeoutError) as error:
            log.warning("%s is no longer needed: %s", loser.key, type(error).__name__)
    return answer


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--boxes", type=int, default=48)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="recount-") as tmp:
        marks = Path(tmp) / "marks"
        marks.mkdir()
        dask.config.set({"temporary-directory": tmp})
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=":0"
            ) as cluster,
            Client(cluster) as client,
        ):
            good, smudged = scan_all(client, args.boxes, str(marks))
            log.warning(
                "%d boxes scanned, %d to be counted by hand", len(good), len(smudged)
            )
            for box, count in zip(
                smudged, client.gather(client.map(count_by_hand, smudged))
            ):
                good[box] = count
            answer = fastest_tally(client, [good[b] for b in sorted(good)])
            client.restart()  # the loser may still be counting
            check = client.submit(
                add_up, list(good.values()), key="add_up-check"
            ).result()
        assert answer == check, (answer, check)
        assert sum(answer.values()) == sum(sum(c.values()) for c in good.values())
    log.info("recount agrees: %s", answer)


if __name__ == "__main__":
    main()
