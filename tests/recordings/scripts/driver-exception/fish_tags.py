"""Fish tag detections: a reader thread feeds the receivers' records, tasks decode them."""

import threading

from dask.distributed import Client, LocalCluster, Queue

RECORDS = [{"tag": f"A69-{i:04d}", "rx": i % 3, "t": i * 30} for i in range(30)]
RECORDS[18] = {"tag": "A69-0018", "receiver": 0, "t": 540}


def reader(queue):
    for rec in RECORDS:
        queue.put((rec["tag"], rec["rx"], rec["t"]))


def decode(rec):
    return f"{rec[0]}@{rec[1]}"


def main():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as cluster:
        with Client(cluster) as client:
            queue = Queue("detections", client=client)
            threading.Thread(
                target=reader, args=(queue,), name="receiver-reader", daemon=True
            ).start()
            out = []
            while len(out) < len(RECORDS):
                rec = queue.get(timeout=6)
                out.append(client.submit(decode, rec))
            print(len(client.gather(out)))


if __name__ == "__main__":
    main()
