"""Transcribes rune stones; gives a worker back to the pool half way and ends with an explicit status."""

import logging
import sys
import time

from dask.distributed import Client, LocalCluster, worker_client


def transcribe(stone):
    time.sleep(0.2)
    return "".join("fuþark"[(stone * k) % 6] for k in range(1, 8))


def proof_read(texts):
    with worker_client() as client:
        return sum(client.gather(client.map(len, texts)))


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="400MiB", dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            client.wait_for_workers(2)
            first = client.map(transcribe, range(10))
            texts = client.gather(first)
            client.publish_dataset(stones=texts)
            try:
                client.publish_dataset(stones=texts)
            except KeyError:
                print("stones are published already")
            print(
                "runes",
                client.submit(proof_read, client.get_dataset("stones")).result(),
            )
            client.unpublish_dataset("stones")
            leaving = sorted(client.scheduler_info(n_workers=-1)["workers"])[0]
            client.retire_workers([leaving])
            texts += client.gather(client.map(transcribe, range(10, 18)))
            missing = [i for i, t in enumerate(texts) if not t]
    print(len(texts), "stones,", len(set(texts)), "different texts")
    if missing:
        logging.error("missing stones %s", missing)
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
