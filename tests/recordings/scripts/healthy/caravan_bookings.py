"""Occupancy of the caravan sites, with the weekly failover drill switched on.

The drill ends a worker in the middle of the run and retires another one; the
figures have to be right all the same.
"""

from __future__ import annotations

import argparse
import logging
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import dask
import numpy as np
from dask.distributed import Client, LocalCluster, as_completed, wait

log = logging.getLogger("caravans")


def load_season(site: int, pitches: int, days: int = 365) -> np.ndarray:
    """Bookings of a site: guests per pitch and day."""
    rng = np.random.default_rng(site)
    time.sleep(0.6)
    return rng.poisson(2.1, size=(pitches, days)).astype("f8")


def guests(season: np.ndarray) -> float:
    time.sleep(0.1)
    return float(season.sum())


def drill(flag: str) -> str:
    """First call: the worker leaves the way a reclaimed host does.  Second call: all is well."""
    mark = Path(flag)
    if not mark.exists():
        mark.touch()
        print("failover drill: this worker leaves now", file=sys.stderr, flush=True)
        os._exit(17)
    return "drill survived"


def tourist_tax(site: int, flag_folder: str) -> float:
    """The tax office answers 503 now and then."""
    mark = Path(flag_folder) / f"tax-{site}"
    if site % 4 == 1 and not mark.exists():
        mark.touch()
        raise ConnectionError(f"503 Service Unavailable for site {site}")
    return 2.5 + site % 3


def old_exporter() -> bool:
    """The old exporter is tried first, for as long as it is installed anywhere."""
    done = subprocess.run(
        [sys.executable, "-c", "import sys; sys.exit('exporter: licence expired')"],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        log.error("old exporter failed (%s), using the new one", done.stderr.strip())
    return done.returncode == 0


def wait_for_size(client: Client, size: int) -> None:
    client.wait_for_workers(size, timeout=90)
    log.info("%d workers", len(client.scheduler_info()["workers"]))


def season_totals(
    client: Client, cluster: LocalCluster, sites: int, pitches: int, flags: Path
) -> list[float]:
    seasons = [
        client.submit(load_season, s, pitches, key=f"load_season-{s}")
        for s in range(sites)
    ]
    wait(seasons, timeout=120)
    before = client.gather(
        [
            client.submit(guests, s, key=f"guests-before-{n}")
            for n, s in enumerate(seasons)
        ]
    )

    log.warning("drill 1: a worker leaves without a word")
    log.info(
        client.submit(drill, str(flags / "left"), key="drill-1").result(timeout=120)
    )
    wait_for_size(client, 2)

    log.warning("drill 2: shrink to one worker, then grow again")
    cluster.scale(1)
    patience = time.monotonic() + 60
    while len(client.scheduler_info()["workers"]) > 1 and time.monotonic() < patience:
        time.sleep(0.2)
    time.sleep(2)
    cluster.scale(2)
    wait_for_size(client, 2)

    after = client.gather(
        [
            client.submit(guests, s, key=f"guests-after-{n}")
            for n, s in enumerate(seasons)
        ]
    )
    if before != after:
        raise RuntimeError("figures changed during the drill")
    return after


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sites", type=int, default=16)
    parser.add_argument("--pitches", type=int, default=1700)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="caravans-") as tmp:
        flags = Path(tmp) / "flags"
        flags.mkdir()
        dask.config.set({"temporary-directory": tmp})
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="260MB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster) as client:
                totals = season_totals(client, cluster, args.sites, args.pitches, flags)
                rates = {
                    client.submit(
                        tourist_tax, s, str(flags), key=f"tourist_tax-{s}", retries=2
                    ): s
                    for s in range(args.sites)
                }
                tax = {
                    rates[f]: f.result() * totals[rates[f]]
                    for f in as_completed(list(rates))
                }
        if not old_exporter():
            (Path(tmp) / "tax.csv").write_text(
                "\n".join(f"{s};{t:.2f}" for s, t in sorted(tax.items()))
            )
        rows = (Path(tmp) / "tax.csv").read_text().splitlines()
        assert len(rows) == args.sites
    log.info(
        "%d sites, %.0f guest nights, %.2f tax",
        len(rows),
        sum(totals),
        sum(tax.values()),
    )


if __name__ == "__main__":
    main()
