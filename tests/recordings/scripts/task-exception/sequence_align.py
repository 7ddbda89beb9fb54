import multiprocessing
import random

from dask.distributed import Client, LocalCluster

BASES = "ACGT"


def sample(seed, length=400):
    rng = random.Random(seed)
    return "".join(rng.choice(BASES) for _ in range(length))


def identity(pair):
    left, right = pair
    return sum(a == b for a, b in zip(left, right)) / len(left)


def align_batch(reference, batch):
    reads = [sample(batch * 100 + k) for k in range(50)]
    with multiprocessing.Pool(2) as pool:
        scores = pool.map(identity, [(reference, read) for read in reads])
    return batch, max(scores)


def main():
    reference = sample(7)
    print("self identity", identity((reference, reference)))
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        ref = client.scatter(reference, broadcast=True)
        futures = [
            client.submit(align_batch, ref, batch, key=f"align-{batch}")
            for batch in range(12)
        ]
        best = sorted(client.gather(futures), key=lambda item: -item[1])[:3]
        print("best batches", best)


if __name__ == "__main__":
    main()
