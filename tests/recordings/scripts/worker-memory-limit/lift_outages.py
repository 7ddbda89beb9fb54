"""Lift and escalator availability of the metro: telemetry -> outage minutes per station.

Runs after midnight. Stations that fail are left out of the table; the table is only
published when enough of the network is covered.
"""

import argparse
import logging
import time

import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("lifts")

# station -> (units, sampling period in seconds, as the controllers are configured)
STATIONS = {
    "harbour": (6, 10.0),
    "market_square": (9, 10.0),
    "museum": (4, 10.0),
    "university": (8, 10.0),
    "north_terminal": (14, 0.02),
    "old_town": (5, 10.0),
    "stadium": (12, 10.0),
    "zoo": (3, 10.0),
    "hospital": (10, 10.0),
    "brewery": (4, 10.0),
    "observatory": (2, 10.0),
    "south_bridge": (7, 10.0),
}
DAY = 86_400


def read_unit(station: str, unit: int, period: float) -> np.ndarray:
    """The state vector of one unit for one day: 0 runs, 1 stands, 2 out of order."""
    rng = np.random.default_rng(abs(hash((len(station), unit))) % 2**32)
    n = int(DAY / period)
    state = np.zeros(n, dtype="float64")
    for _ in range(3):
        start = rng.integers(0, n - n // 50)
        state[start : start + n // 50] = 2
    return state


def station_outages(station: str, units: int, period: float) -> dict:
    """Minutes out of order of each unit, and of the whole station at once."""
    states = []
    for unit in range(units):
        states.append(read_unit(station, unit, period))
        time.sleep(0.12)
    matrix = np.vstack(states)
    broken = matrix == 2
    minutes = broken.sum(axis=1) * period / 60
    return {
        "station": station,
        "units": units,
        "minutes": float(minutes.sum()),
        "worst": float(minutes.max()),
        "all_down": float(broken.all(axis=0).sum() * period / 60),
    }


def collect(client: Client) -> tuple[pd.DataFrame, list[str]]:
    futures = {}
    for station, (units, period) in STATIONS.items():
        futures[
            client.submit(
                station_outages, station, units, period, key=f"outages-{station}"
            )
        ] = station
    rows, skipped = [], []
    for fut in as_completed(futures):
        station = futures[fut]
        try:
            rows.append(fut.result())
        except Exception as exc:
            log.warning("station %s skipped (%s)", station, type(exc).__name__)
            skipped.append(station)
    return pd.DataFrame(rows).sort_values("station"), skipped


def publish(table: pd.DataFrame, need: float) -> None:
    known = sum(u for u, _ in STATIONS.values())
    covered = int(table["units"].sum())
    share = covered / known
    log.info("%d of %d units covered (%.0f %%)", covered, known, 100 * share)
    if share < need:
        raise RuntimeError(
            f"coverage {share:.1%} is below {need:.0%}: availability table not published"
        )
    print(table.to_string(index=False))


def main() -> None:
    ap = argparse.ArgumentParser()
    ap.add_argument("--coverage", type=float, default=0.95)
    ap.add_argument("--memory", default="240MB")
    args = ap.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    cluster = LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        memory_limit=args.memory,
        dashboard_address=None,
    )
    client = Client(cluster)
    try:
        table, skipped = collect(client)
        if skipped:
            log.warning("without data tonight: %s", ", ".join(sorted(skipped)))
    finally:
        client.close()
        cluster.close()
    log.info("total outage minutes: %.0f", table["minutes"].sum())
    publish(table, args.coverage)


if __name__ == "__main__":
    main()
