"""Charges for all gantry passages of the day."""

import argparse
import json
import pathlib

from dask import delayed
from dask.distributed import Client, LocalCluster

from passages import charge, passages
from quotes import quotes

SEGMENTS = 160


@delayed
def merge_prices(parts):
    merged = {}
    for p in parts:
        merged.update(p)
    return merged


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--day", required=True)
    ap.add_argument("--seed", type=int, required=True)
    ap.add_argument("--passages", type=int, default=200_000)
    ap.add_argument("--out", required=True)
    a = ap.parse_args()
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=2, dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        price_parts = [
            delayed(quotes)(range(s, s + 20)) for s in range(0, SEGMENTS, 20)
        ]
        prices = merge_prices(price_parts)
        charges = [
            delayed(charge)(delayed(passages)(a.seed + g, a.passages, SEGMENTS), prices)
            for g in range(10)
        ]
        cents = delayed(sum)(charges).compute()
    out = pathlib.Path(a.out)
    out.mkdir(parents=True, exist_ok=True)
    (out / "charges.json").write_text(json.dumps({"day": a.day, "cents": cents}))
    print(a.day, cents / 100, "EUR")


if __name__ == "__main__":
    main()
