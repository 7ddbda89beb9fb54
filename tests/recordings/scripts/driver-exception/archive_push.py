import hashlib
import sys
import tempfile
import time
from pathlib import Path

from distributed import Client, LocalCluster


def bundle(day):
    return day, hashlib.sha256(f"day-{day}".encode()).digest() * 2000


def push(item, bucket):
    day, blob = item
    time.sleep(0.3)
    Path(bucket, f"day-{day:03d}.bin").write_bytes(blob)


def verify(bucket, days):
    present = {p.name for p in Path(bucket).iterdir()}
    return [d for d in range(days) if f"day-{d:03d}.bin" not in present]


def main(days=40):
    bucket = tempfile.mkdtemp(prefix="bucket")
    with LocalCluster(
        n_workers=2, threads_per_worker=2, memory_limit="300MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            bundles = client.map(bundle, range(days))
            for b in bundles:
                client.submit(push, b, bucket)
            print(
                "bundled", sum(len(blob) for _, blob in client.gather(bundles)), "bytes"
            )
            time.sleep(6)
    missing = verify(bucket, days)
    if missing:
        print("first missing:", missing[:5], file=sys.stderr)
        sys.exit(f"{len(missing)} of {days} archive objects missing")


if __name__ == "__main__":
    main()
