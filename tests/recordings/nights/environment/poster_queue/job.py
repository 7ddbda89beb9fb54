"""Render the poster orders of the night. The renderer is licensed: workers announce it as a resource."""

import argparse
import json
import os

from dask.distributed import Client, LocalCluster, wait

from render import layout, rasterise


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--orders-from", type=int, required=True)
    ap.add_argument("--orders", type=int, required=True)
    ap.add_argument(
        "--patience",
        type=float,
        default=12,
        help="seconds until the night shift is told",
    )
    ap.add_argument("--out", required=True)
    a = ap.parse_args()
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(1, timeout=60)
        pages = client.map(layout, range(a.orders_from, a.orders_from + a.orders))
        posters = client.map(rasterise, pages, resources={"RENDER": 1})
        wait(posters, timeout=a.patience)
        done = dict(client.gather(posters))
    os.makedirs(a.out, exist_ok=True)
    with open(os.path.join(a.out, "posters.json"), "w") as f:
        json.dump(done, f)
    print(len(done), "posters")


if __name__ == "__main__":
    main()
