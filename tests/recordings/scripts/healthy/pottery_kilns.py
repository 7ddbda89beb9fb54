"""Firing curves of the pottery's kilns: fit, replay, and a report; restarts the workers between the batches."""

import argparse
import logging
import os
import time

import dask
import numpy as np
from distributed import Client, LocalCluster, get_worker
from distributed.scheduler import KilledWorker

log = logging.getLogger("kilns")
BATCHES = {
    "bisque": (900, 1040),
    "earthenware": (1000, 1150),
    "stoneware": (1180, 1290),
}


def parse_args(argv=None):
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--firings", type=int, default=10)
    p.add_argument("--memory", default="320MiB")
    return p.parse_args(argv)


def read_pyrometer(kind, n):
    low, high = BATCHES[kind]
    rng = np.random.default_rng(n)
    ramp = np.linspace(20, rng.uniform(low, high), 600)
    return ramp + rng.normal(0, 4, size=600)


def fit_firing(kind, n):
    curve = read_pyrometer(kind, n)
    time.sleep(0.25)
    if n == 3 and kind == "stoneware":
        get_worker().log_event("kilns", {"action": "cone", "firing": n})
        raise RuntimeError(f"cone 10 did not bend in firing {n}")
    rate = np.polyfit(np.arange(curve.size), curve, 1)[0]
    return {
        "kind": kind,
        "firing": n,
        "rate": round(float(rate), 3),
        "top": float(curve.max()),
    }


def heat_field(megabytes):
    """The field of the whole chamber in one piece, once per night."""
    field = np.ones(megabytes * 2**20 // 8)
    time.sleep(2)
    return float(field[::512].mean())


def probe_driver(kind):
    """The old thermocouple driver takes its process along when the probe is unplugged."""
    time.sleep(0.5)
    os._exit(4)


def unplugged(client, kind):
    try:
        client.submit(probe_driver, kind, key=f"probe_driver-{kind}").result(timeout=60)
    except KilledWorker as e:
        log.warning(
            "probe of %s is unplugged, the pyrometer is used: %s",
            kind,
            type(e).__name__,
        )
        return True
    return False


def fit_batch(client, kind, firings):
    futures = client.map(fit_firing, [kind] * firings, range(firings), pure=False)
    fits = []
    for future in futures:
        error = future.exception()
        if error is not None:
            log.warning("firing left out: %s", error)
            continue
        fits.append(future.result())
    return fits


def main(argv=None):
    args = parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    dask.config.set({"distributed.scheduler.allowed-failures": 0})
    report = []
    with LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        memory_limit=args.memory,
        dashboard_address=":0",
    ) as cluster:
        with Client(cluster) as client:
            for n, kind in enumerate(BATCHES):
                fits = fit_batch(client, kind, args.firings)
                report.append((kind, len(fits), np.mean([f["rate"] for f in fits])))
                log.info("%s: %d of %d firings", kind, len(fits), args.firings)
                if n == 0 and unplugged(client, kind):
                    client.wait_for_workers(1, timeout=60)
                if n == 1:
                    log.warning("restarting the workers")
                    client.restart(timeout=60)
            level = client.submit(heat_field, 120).result()
            log.info("field level %.1f", level)
    if sum(count for _, count, _ in report) < 2 * args.firings:
        raise SystemExit("too few firings")
    for kind, count, rate in report:
        print(f"{kind:12s} {count:3d} firings {rate:7.3f} K/step")


if __name__ == "__main__":
    main()
