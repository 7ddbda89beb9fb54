"""Yield of the solar parks: load the model once into each worker, then predict."""

import builtins
import ctypes
import time

import dask
from dask.distributed import Client, KilledWorker

dask.config.set({"distributed.scheduler.allowed-failures": 1})


def load_model(coefficients):
    builtins.park_model = coefficients
    return len(coefficients)


def shade_factor(park):
    """Ray tracer of the vendor; some roofs send it off the end of its table."""
    time.sleep(0.1)
    if park == 11:
        ctypes.memset(8, 0, 64)
    return 0.9 - 0.01 * (park % 5)


def predict(park, shade):
    return round(builtins.park_model["kwp"] * shade + park, 2)


def main():
    with Client(n_workers=1, threads_per_worker=1, dashboard_address=":0") as client:
        client.run(load_model, {"kwp": 4.2, "tilt": 31})
        shades = {}
        futures = {p: client.submit(shade_factor, p) for p in range(16)}
        for park, future in futures.items():
            try:
                shades[park] = future.result()
            except KilledWorker:
                print("park", park, "without shade")
                shades[park] = 0.9
        yields = [client.submit(predict, p, s) for p, s in shades.items()]
        print("kWh", sum(client.gather(yields)))


if __name__ == "__main__":
    main()
