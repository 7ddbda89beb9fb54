"""Firing curves of the kilns: despike, smooth, and find soak times."""
import argparse
import json
import pathlib

from dask import compute, delayed
from dask.distributed import Client, LocalCluster

from kiln.signal import smooth, soak_minutes, thermocouple


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--date", required=True)
    ap.add_argument("--seed", type=int, required=True)
    ap.add_argument("--samples", type=int, default=500_000)
    ap.add_argument("--out", required=True)
    a = ap.parse_args()
    with LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=None) as cluster, Client(cluster):
        raw = [delayed(thermocouple)(a.seed + k, a.samples) for k in range(8)]
        soak = compute(*[delayed(soak_minutes)(delayed(smooth)(r)) for r in raw])
    out = pathlib.Path(a.out)
    out.mkdir(parents=True, exist_ok=True)
    (out / f"soak-{a.date}.json").write_text(json.dumps(soak))
    print(a.date, [round(s, 1) for s in soak])


if __name__ == "__main__":
    main()
