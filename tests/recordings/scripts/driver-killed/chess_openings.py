import resource
import time

from dask.distributed import Client, LocalCluster


def games(shard):
    time.sleep(0.2)
    return [(shard * k) % 500 for k in range(2000)]


def rank(openings, rounds):
    scores = [0] * 500
    for _ in range(rounds):
        for opening in openings:
            scores[opening] = (scores[opening] * 31 + opening) % 1_000_003
    return scores


def main():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        used = resource.getrusage(resource.RUSAGE_SELF)
        budget = int(used.ru_utime + used.ru_stime) + 3
        resource.setrlimit(resource.RLIMIT_CPU, (budget, budget + 5))
        openings = [
            o for part in client.gather(client.map(games, range(12))) for o in part
        ]
        print("games", len(openings))
        scores = rank(openings, 4000)
        print("best", scores.index(max(scores)))


if __name__ == "__main__":
    main()
