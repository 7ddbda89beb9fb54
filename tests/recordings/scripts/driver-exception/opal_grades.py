import random
import statistics
import threading

from dask.distributed import Client, wait

by_stone = {}
guard = threading.Lock()


def grade(stone):
    rng = random.Random(stone)
    return {"carat": rng.uniform(0.5, 4), "fire": rng.randint(1, 10)}


def collect(future):
    stone = int(future.key.split("-")[1])
    with guard:
        by_stone[stone] = future.result()


def report():
    fires = [g["fire"] for g in by_stone.values()]
    print("stones graded:", len(fires))
    print("mean fire: %.2f" % statistics.mean(fires))


if __name__ == "__main__":
    client = Client(n_workers=2, threads_per_worker=1, dashboard_address=None)
    try:
        futures = []
        for stone in range(8):
            future = client.submit(grade, stone, key=f"opal:{stone}")
            future.add_done_callback(collect)
            futures.append(future)
        wait(futures, timeout=40)
        threading.Event().wait(2)
        report()
    finally:
        client.shutdown()
