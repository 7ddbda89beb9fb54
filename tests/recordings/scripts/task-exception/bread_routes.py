"""Nightly van planning of the bakery: stops per zone -> drop matrix -> vans."""

import argparse
import logging
import random
import sys

import numpy as np
from dask.distributed import Client, LocalCluster

log = logging.getLogger("bread_routes")

ZONES = [
    "altstadt",
    "bahnhof",
    "dom",
    "eichen",
    "furth",
    "gruen",
    "hafen",
    "insel",
    "kirch",
    "linden",
    "markt",
    "nord",
]
DEPOT = (50.94, 6.96)


def order_feed(zone, seed):
    """What the shop system delivers for one zone: a list of dicts."""
    rng = random.Random(f"{zone}-{seed}")
    rows = []
    for n in range(40):
        row = {
            "order": f"{zone[:3].upper()}{n:04d}",
            "lat": DEPOT[0] + rng.uniform(-0.08, 0.08),
            "lon": DEPOT[1] + rng.uniform(-0.08, 0.08),
            "loaves": rng.randint(1, 30),
        }
        rows.append(row)
    if zone == "insel":
        # the island shops send through the new till since March
        for row in rows[25:]:
            row["lng"] = row.pop("lon")
    return rows


def collect_zone(zone, seed):
    """Centre of gravity and load of one zone."""
    rows = order_feed(zone, seed)
    load = np.array([r["loaves"] for r in rows], dtype=float)
    lat = np.array([r["lat"] for r in rows])
    lon = np.array([r["lon"] for r in rows])
    w = load / load.sum()
    return np.array([(lat * w).sum(), (lon * w).sum(), load.sum()])


def zone_distances(points):
    d = points[:, None, :2] - points[None, :, :2]
    return np.sqrt((d**2).sum(axis=-1)) * 111.0


def van_costs(distances, preference):
    """Cost of van v in zone z: way between the zones times the drivers' preference."""
    return distances @ preference.T


def assign_vans(costs, vans):
    order = np.argsort(costs, axis=0)
    plan = {}
    for van in range(vans):
        plan[van] = [int(z) for z in order[van::vans, van % costs.shape[1]]]
    return plan


def collect(client, zones, seed):
    futures = client.map(collect_zone, zones, seed=seed)
    rows = client.gather(futures, errors="skip")
    log.info("collected the orders, %.0f loaves", sum(r[2] for r in rows))
    return np.stack(rows)


def driver_preferences(vans, zones):
    rng = np.random.default_rng(11)
    return rng.uniform(0.5, 1.5, size=(vans, len(zones)))


def main(argv=None):
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--vans", type=int, default=4)
    ap.add_argument("--seed", type=int, default=20260318)
    args = ap.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="250MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            log.info("planning %d zones on %s", len(ZONES), cluster.scheduler_address)
            points = collect(client, ZONES, args.seed)
            prefs = client.submit(driver_preferences, args.vans, ZONES)
            distances = client.submit(zone_distances, points)
            costs = client.submit(van_costs, distances, prefs)
            plan = client.submit(assign_vans, costs, args.vans).result()
            for van, stops in plan.items():
                log.info("van %d: %s", van, ", ".join(ZONES[z] for z in stops))
    return 0


if __name__ == "__main__":
    sys.exit(main())
