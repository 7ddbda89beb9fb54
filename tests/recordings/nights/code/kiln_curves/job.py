"""Firing curves of the kilns: despike, smooth, and find soak times."""

import argparse
import json
import pathlib

import numpy as np
from dask import compute, delayed
from dask.distributed import Client, LocalCluster

WINDOW = 9


def thermocouple(seed, n):
    rng = np.random.default_rng(seed)
    base = 20 + 1220 * np.sin(np.linspace(0, np.pi, n)) ** 0.4
    curve = base + rng.normal(0, 2.0, n)
    curve[rng.integers(0, n, n // 200)] += 300
    return curve


def smooth(curve, window=WINDOW):
    """Running median over the window, vectorised."""
    padded = np.pad(curve, window // 2, mode="edge")
    return np.median(np.lib.stride_tricks.sliding_window_view(padded, window), axis=1)


def soak_minutes(curve, above=1180.0):
    return float((curve > above).sum() / 60)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--date", required=True)
    ap.add_argument("--seed", type=int, required=True)
    ap.add_argument("--samples", type=int, default=500_000)
    ap.add_argument("--out", required=True)
    a = ap.parse_args()
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        raw = [delayed(thermocouple)(a.seed + k, a.samples) for k in range(8)]
        soak = compute(*[delayed(soak_minutes)(delayed(smooth)(r)) for r in raw])
    out = pathlib.Path(a.out)
    out.mkdir(parents=True, exist_ok=True)
    (out / f"soak-{a.date}.json").write_text(json.dumps(soak))
    print(a.date, [round(s, 1) for s in soak])


if __name__ == "__main__":
    main()
