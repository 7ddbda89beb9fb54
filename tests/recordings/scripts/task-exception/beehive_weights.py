"""Keep the weight of each hive in an actor, and report the swarming risk."""

import random

from dask.distributed import Client


class Apiary:
    def __init__(self, hives):
        self.weights = {h: [] for h in hives}

    def record(self, hive, kg):
        self.weights[hive].append(kg)
        return len(self.weights[hive])

    def risk(self, hive):
        rows = self.weights[hive]
        return (rows[-1] - rows[0]) / rows[0]


def readings(day):
    rng = random.Random(day)
    out = [(f"hive-{h}", 30 + rng.random() * 5) for h in range(6)]
    if day == 9:
        out.append(("hive-06", 31.0))
    return out


def main():
    with Client(n_workers=1, threads_per_worker=2, dashboard_address=":0") as client:
        apiary = client.submit(
            Apiary, [f"hive-{h}" for h in range(6)], actor=True
        ).result()
        for day in range(14):
            for hive, kg in client.submit(readings, day).result():
                apiary.record(hive, kg).result()
            print("day", day, "recorded")
        for h in range(6):
            print(h, round(apiary.risk(f"hive-{h}").result(), 3))


if __name__ == "__main__":
    main()
