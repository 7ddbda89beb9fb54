"""Scores texts by their words, on one worker with four threads."""

from dask.distributed import Client, LocalCluster


def score(text):
    total = 0
    for word in range(1_200_000):
        total = (total * 31 + word * text) % 1_000_003
    return total


if __name__ == "__main__":
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=4, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        print(sum(client.gather(client.map(score, range(80)))))
