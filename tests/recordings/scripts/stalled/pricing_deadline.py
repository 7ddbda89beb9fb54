"""Option pricing: the morning report needs the summary within seconds."""

import time

import numpy as np
from dask.distributed import Client, LocalCluster


def calibrate(book):
    """Monthly recalibration, can take its time."""
    time.sleep(9)
    return {"book": book, "sigma": 0.2}


def price(book, strike):
    rng = np.random.default_rng(strike)
    paths = 100 * np.exp(rng.normal(0, 0.2, 20_000))
    return float(np.maximum(paths - strike, 0).mean())


def summary(prices):
    return {"n": len(prices), "mean": sum(prices) / len(prices)}


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        recalibration = client.map(calibrate, ["rates", "equity", "fx", "credit"])
        prices = [client.submit(price, "equity", strike) for strike in range(90, 110)]
        report = client.submit(summary, prices)
        print("summary", report.result(timeout=6))
        print("calibrated", len(client.gather(recalibration)))


if __name__ == "__main__":
    main()
