"""Write the customer notifications of the day into the outbox file."""

import fcntl
import os
import tempfile
import time

from distributed import Client, LocalCluster, wait


def export_batch(batch, path):
    rows = [f"{batch:02d}-{i:03d};notice;ok\n" for i in range(25)]
    with open(path, "a") as fh:
        fcntl.flock(fh, fcntl.LOCK_EX)
        fh.writelines(rows)
    time.sleep(0.3)
    return len(rows)


def rotate_signing_key(client):
    first = sorted(client.scheduler_info()["workers"])[0]
    print("new signing key, restarting", first, flush=True)
    return client.restart_workers([first])


def main():
    outbox = os.path.join(tempfile.mkdtemp(prefix="outbox"), "outbox.csv")
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="300MB", dashboard_address=None
    )
    client = Client(cluster)
    try:
        futs = [client.submit(export_batch, b, outbox) for b in range(30)]
        time.sleep(3)
        rotate_signing_key(client)
        wait(futs, timeout=40)
        expected = sum(client.gather(futs))
    finally:
        client.close()
        cluster.close()
    with open(outbox) as fh:
        written = sum(1 for _ in fh)
    print("expected", expected, "written", written)
    assert written == expected, f"outbox has {written} lines, expected {expected}"


if __name__ == "__main__":
    main()
