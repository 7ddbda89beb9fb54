"""Reprice the bond book; a lock keeps the curve cache to one writer at a time."""

import time

from dask.distributed import Client, Lock, wait

CURVES = {"EUR": [2.1, 2.3, 2.6], "USD": [4.0, 4.1, 4.3], "GBP": [4.4, None, 4.6]}


def build_curve(currency):
    lock = Lock("curve-cache")
    lock.acquire()
    points = CURVES[currency]
    smooth = [(a + b) / 2 for a, b in zip(points, points[1:])]
    time.sleep(0.1)
    lock.release()
    return smooth


def reprice(bond, currency):
    with Lock("curve-cache"):
        time.sleep(0.02)
        return bond, 100 - CURVES[currency][0]


def main():
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        curves = [client.submit(build_curve, c) for c in CURVES]
        wait(curves[-1:])
        print("curves are built")
        book = [client.submit(reprice, b, "EUR") for b in range(30)]
        done = []
        for future in book:
            done.append(future.result(timeout=20))
        print("repriced", len(done))


if __name__ == "__main__":
    main()
