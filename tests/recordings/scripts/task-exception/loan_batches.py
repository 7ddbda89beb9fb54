"""Book loan batches; the general ledger takes one writer at a time."""

import random
import time

from dask.distributed import Client, Lock, LocalCluster

GL_WAIT = 6


def batch(number):
    rnd = random.Random(number)
    rows = [
        {"loan": number * 100 + i, "principal": rnd.uniform(1e3, 9e4)}
        for i in range(50)
    ]
    if number == 2:
        rows[17]["principal"] = None
    return rows


def post(number, rows):
    ledger = Lock("general-ledger")
    if not ledger.acquire(timeout=GL_WAIT):
        raise RuntimeError(f"batch {number}: general ledger busy for {GL_WAIT} s")
    time.sleep(0.2)
    booked = sum(round(row["principal"], 2) for row in rows)
    ledger.release()
    return booked


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        booked, problems = {}, {}
        waiting = {n: client.submit(post, n, client.submit(batch, n)) for n in range(3)}
        for number, job in waiting.items():
            try:
                booked[number] = job.result()
            except Exception as err:
                problems[number] = type(err).__name__
        print("early batches", sorted(booked), "to review", sorted(problems))
        closing = client.submit(post, 99, client.submit(batch, 99))
        print("closing batch", round(closing.result(), 2))


if __name__ == "__main__":
    main()
