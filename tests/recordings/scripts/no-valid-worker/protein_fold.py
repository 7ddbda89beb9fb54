import time

from dask.distributed import Client, LocalCluster


def fold(sequence, temperature):
    time.sleep(0.3)
    return len(sequence) * temperature


def score(models):
    return max(models)


def main():
    cluster = LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=None,
        resources={"accelerator": 1},
    )
    client = Client(cluster)
    try:
        chains = ["MKV" * k for k in range(1, 9)]
        relaxed = client.map(
            fold, chains, temperature=300, resources={"accelerator": 1}
        )
        refined = client.map(
            fold, chains, temperature=310, resources={"accelerator": 2}
        )
        best = client.submit(score, relaxed)
        print("relaxed best:", best.result(timeout=20))
        final = client.submit(score, refined)
        print("refined best:", final.result(timeout=8))
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
