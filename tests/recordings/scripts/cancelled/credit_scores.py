import random

from dask.distributed import Client, LocalCluster


def applicants(branch):
    rng = random.Random(branch)
    return [
        (f"{branch}-{k}", rng.randint(18_000, 90_000), rng.random()) for k in range(400)
    ]


def score(batch):
    return [(ref, round(income / 1000 - 40 * risk, 1)) for ref, income, risk in batch]


def ranking(batches):
    return sorted((row for batch in batches for row in batch), key=lambda r: -r[1])[:5]


class Stage:
    def __init__(self, address):
        self.client = Client(address, timeout=10)

    def close(self):
        self.client.close()


class Intake(Stage):
    def load(self, branches):
        return self.client.map(applicants, branches)


class Scoring(Stage):
    def rank(self, batches):
        scored = self.client.map(score, batches)
        return self.client.submit(ranking, scored).result(timeout=15)


def main():
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    try:
        intake = Intake(cluster.scheduler_address)
        batches = intake.load(range(10))
        print("loaded", len(intake.client.gather(batches[:1])[0]))
        intake.close()
        scoring = Scoring(cluster.scheduler_address)
        print("top", scoring.rank(batches))
        scoring.close()
    finally:
        cluster.close()


if __name__ == "__main__":
    main()
