"""Nightly delivery routes of the bakery: a road table on the cluster, one plan per district and shift."""

import argparse
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
from distributed import Client

log = logging.getLogger("bakery_routes")

DISTRICTS = ["altstadt", "bahnhof", "hafen", "messe", "nordend", "seeufer"]
BIN = os.path.dirname(sys.executable)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Hosts:
    """The scheduler and one `dask worker` per host, as our unit files start them."""

    def __init__(self, folder):
        self.folder = folder
        self.address = f"tcp://127.0.0.1:{free_port()}"
        self.processes = {}

    def start(self, name, *arguments):
        command = [os.path.join(BIN, "dask"), *arguments]
        self.processes[name] = subprocess.Popen(command, cwd=self.folder)
        log.info("%s has pid %d", name, self.processes[name].pid)

    def __enter__(self):
        self.start(
            "scheduler",
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            self.address.rsplit(":", 1)[1],
            "--dashboard-address",
            "127.0.0.1:0",
        )
        for name in ("van-a", "van-b"):
            self.start(
                name,
                "worker",
                self.address,
                "--name",
                name,
                "--nthreads",
                "1",
                "--memory-limit",
                "300MiB",
                "--local-directory",
                self.folder,
                "--no-dashboard",
            )
        return self

    def __exit__(self, *error):
        for process in reversed(self.processes.values()):
            if process.poll() is None:
                process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()

    def reclaim(self, name, after):
        """The spot market of the test bench: this host is wanted back."""

        def notice():
            time.sleep(after)
            log.warning("host notice: %s will be reclaimed", name)
            self.processes[name].send_signal(signal.SIGTERM)

        threading.Thread(target=notice, daemon=True).start()


def road_table(stops, seed=4):
    rng = np.random.default_rng(seed)
    places = rng.uniform(0, 30, (stops, 2))
    return np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=2)).astype(
        "float32"
    )


def plan_route(roads, district, shift):
    rng = np.random.default_rng(DISTRICTS.index(district) * 10 + shift)
    todo = list(rng.choice(len(roads), 60, replace=False))
    here, length = todo.pop(), 0.0
    while todo:
        nearest = min(todo, key=lambda stop: roads[here, stop])
        length += float(roads[here, nearest])
        todo.remove(nearest)
        here = nearest
    time.sleep(0.8)
    return {"district": district, "shift": shift, "km": round(length, 1)}


def toll_table(stops, seed=9):
    """Toll of the bridges between any two stops, in cents."""
    return (
        np.random.default_rng(seed)
        .choice([0, 0, 0, 180, 350], (stops, stops))
        .astype("int16")
    )


def price_route(tolls, route):
    rng = np.random.default_rng(route["shift"])
    bridges = rng.integers(0, len(tolls), (12, 2))
    return {**route, "toll": int(tolls[bridges[:, 0], bridges[:, 1]].sum())}


def price_all(client, tolls, routes):
    futures = [
        client.submit(
            price_route,
            tolls,
            route,
            key=f"price_route-{route['district']}-{route['shift']}",
            retries=2,
        )
        for route in routes
    ]
    return client.gather(futures)


def plan_shift(client, roads, shift):
    futures = [
        client.submit(
            plan_route,
            roads,
            district,
            shift,
            key=f"plan_route-{district}-{shift}",
            retries=2,
        )
        for district in DISTRICTS
    ]
    routes = client.gather(futures)
    log.info(
        "shift %d: %d routes, %.1f km",
        shift,
        len(routes),
        sum(route["km"] for route in routes),
    )
    return routes


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shifts", type=int, default=3)
    parser.add_argument("--stops", type=int, default=900)
    parser.add_argument(
        "--reclaim", default="van-a", help="host that the test bench takes away"
    )
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )

    with (
        tempfile.TemporaryDirectory(prefix="routes-") as folder,
        Hosts(folder) as hosts,
    ):
        with Client(hosts.address, timeout="120s") as client:
            client.wait_for_workers(2, timeout=120)
            home = {
                info["name"]: address
                for address, info in client.scheduler_info()["workers"].items()
            }
            roads = client.scatter(road_table(args.stops), workers=[home["van-a"]])
            tolls = client.scatter(toll_table(args.stops), workers=[home["van-a"]])
            log.info(
                "roads and tolls of %d stops scattered to van-a (%s)",
                args.stops,
                home["van-a"],
            )
            routes = []
            for shift in range(args.shifts):
                if shift == 1:
                    hosts.reclaim(args.reclaim, after=2.0)
                routes += plan_shift(client, roads, shift)
            log.info("%d routes planned, pricing them", len(routes))
            priced = price_all(client, tolls, routes)
            log.info(
                "tolls of the night: %.2f", sum(route["toll"] for route in priced) / 100
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
