"""Counts of the starling roosts from last evening's films.

The film server is moody and some films are useless, so the job retries, leaves out what
cannot be read, gives up on late extras, and starts the second half with fresh workers.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import tempfile
import time
import warnings
from pathlib import Path

from dask.distributed import Client, LocalCluster, as_completed, wait

log = logging.getLogger("roosts")


class UnreadableFilm(Exception):
    """The film is there but has no usable frame."""


def fetch_film(site: str, marks: str) -> str:
    """The server drops the first connection of every third site."""
    mark = Path(marks) / f"{site}.seen"
    if int(site[1:]) % 3 == 0 and not mark.exists():
        mark.touch()
        raise ConnectionResetError(f"film server closed the connection ({site})")
    time.sleep(0.2)
    return site


def count_birds(film: str) -> int:
    rng = random.Random(film)
    if int(film[1:]) in (7, 16):
        raise UnreadableFilm(f"{film}: 0 of 1440 frames usable")
    if int(film[1:]) == 11:
        warnings.warn(f"{film}: exposure drifts, count may be low", RuntimeWarning)
        logging.getLogger("roosts.count").error(
            "%s: bad header, fell back to index", film
        )
    time.sleep(0.2)
    return rng.randrange(200, 60_000)


def long_extra(site: str) -> str:
    """Flight tracks, nice to have when there is time."""
    for _ in range(240):
        time.sleep(0.5)
    return site


def count_all(client: Client, sites: list[str], marks: str) -> tuple[int, list[str]]:
    films = [
        client.submit(fetch_film, site, marks, retries=3, pure=False) for site in sites
    ]
    counts = dict(zip(client.map(count_birds, films, pure=False), sites))
    total, left_out = 0, []
    for future in as_completed(counts):
        if future.status == "error":
            log.warning("left out %s: %s", counts[future], future.exception())
            left_out.append(counts[future])
        else:
            total += future.result()
    return total, left_out


def try_extras(client: Client, sites: list[str], patience: float) -> int:
    extras = [client.submit(long_extra, site, pure=False) for site in sites]
    try:
        wait(extras, timeout=patience)
    except TimeoutError:
        log.warning("tracks are too slow tonight, dropping %d of them", len(extras))
        client.cancel(extras, force=True)
    return sum(future.status == "finished" for future in extras)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sites", type=int, default=24)
    parser.add_argument("--patience", type=float, default=3)
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )

    sites = [f"R{n:02d}" for n in range(args.sites)]
    half = len(sites) // 2
    with (
        tempfile.TemporaryDirectory(prefix="roosts-") as scratch,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="256MiB",
            dashboard_address=":0",
            local_directory=scratch,
        ) as cluster,
        Client(cluster) as client,
    ):
        total, left_out = count_all(client, sites[:half], scratch)
        tracks = try_extras(client, sites[:2], args.patience)

        log.warning("restarting the workers before the second half")
        client.restart(timeout=90)
        client.wait_for_workers(2, timeout=90)

        more, more_left_out = count_all(client, sites[half:], scratch)
        left_out += more_left_out
        log.info("%d birds at %d roosts", total + more, len(sites) - len(left_out))
        if len(left_out) > 4:
            log.error("too many films left out: %s", left_out)
            return 3
        log.info("left out: %s; %d flight tracks", ", ".join(sorted(left_out)), tracks)
    return 0


if __name__ == "__main__":
    sys.exit(main())
