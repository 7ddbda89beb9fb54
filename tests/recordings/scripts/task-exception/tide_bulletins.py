"""Tide bulletins: workers compute tomorrow's curve of each gauge, the driver prints them as they get ready."""

import argparse
import logging
import math
import time

from distributed import Client, LocalCluster, Queue, fire_and_forget

log = logging.getLogger("tides")

GAUGES = [
    {"name": "Brest", "amplitude": 3.1, "phase": 0.4, "datum": 4.13},
    {"name": "Dover", "amplitude": 2.7, "phase": 1.9, "datum": 3.67},
    {"name": "Cuxhaven", "amplitude": 1.5, "phase": 2.6, "datum": 5.00},
    {"name": "Bergen", "amplitude": 0.6, "phase": 3.3, "datum": 0.91},
    {"name": "Lisboa", "amplitude": 1.6, "phase": 0.1, "datum": 2.20},
    {"name": "Heysham", "amplitude": 4.2, "phase": 5.0, "datum": None},
    {"name": "Galway", "amplitude": 2.3, "phase": 0.9, "datum": 2.95},
    {"name": "Esbjerg", "amplitude": 0.8, "phase": 4.4, "datum": 1.02},
    {"name": "Vigo", "amplitude": 1.5, "phase": 0.2, "datum": 2.12},
    {"name": "Aberdeen", "amplitude": 1.8, "phase": 1.2, "datum": 2.55},
]
M2_HOURS = 12.4206


def parse_args(argv=None):
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--step-minutes", type=int, default=6)
    p.add_argument(
        "--patience",
        type=float,
        default=15,
        help="seconds without any bulletin before we give up",
    )
    return p.parse_args(argv)


def curve(gauge, step_minutes):
    hours = [m / 60 for m in range(0, 24 * 60, step_minutes)]
    return [
        gauge["amplitude"] * math.cos(2 * math.pi * h / M2_HOURS + gauge["phase"])
        for h in hours
    ]


def above_chart_datum(heights, datum):
    """The mariners read heights above chart datum, the constituents give them above mean sea level."""
    return [h + datum for h in heights]


def high_waters(heights, step_minutes):
    found = []
    for n in range(1, len(heights) - 1):
        if heights[n - 1] < heights[n] >= heights[n + 1]:
            minutes = n * step_minutes
            found.append(
                (f"{minutes // 60:02d}:{minutes % 60:02d}", round(heights[n], 2))
            )
    return found


def publish_gauge(gauge, step_minutes, ready):
    time.sleep(0.7)
    heights = above_chart_datum(curve(gauge, step_minutes), gauge["datum"])
    ready.put({"gauge": gauge["name"], "high": high_waters(heights, step_minutes)})


def print_bulletins(ready, count, patience):
    for n in range(count):
        bulletin = ready.get(timeout=patience)
        times = "  ".join(f"{at} {height:.2f} m" for at, height in bulletin["high"])
        print(f"{bulletin['gauge']:10s} {times}", flush=True)
        log.info("bulletin %d of %d", n + 1, count)


def main(argv=None):
    args = parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="280MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            ready = Queue("bulletins", client=client)
            for gauge in GAUGES:
                fire_and_forget(
                    client.submit(
                        publish_gauge, gauge, args.step_minutes, ready, pure=False
                    )
                )
            print_bulletins(ready, len(GAUGES), args.patience)
    log.info("all bulletins out")


if __name__ == "__main__":
    main()
