"""Parse the gateway logs and count messages per facility."""

import collections
import os
import tempfile

from dask.distributed import Client, LocalCluster


class ParseStepFailed(Exception):
    pass


def write_logs(root):
    for shard in range(8):
        lines = [
            f"{i:05d} {['auth', 'kern', 'mail'][i % 3]} host{i % 9} message {i}"
            for i in range(3000)
        ]
        if shard == 6:
            lines[2113] = "02113 mail host7 Zustellung an M\u00fcller fehlgeschlagen"
        encoding = "latin-1" if shard == 6 else "utf-8"
        with open(os.path.join(root, f"gw-{shard}.log"), "w", encoding=encoding) as out:
            out.write("\n".join(lines))


def facilities(path):
    counts = collections.Counter()
    with open(path, encoding="utf-8") as handle:
        for line in handle:
            _, facility, _ = line.split(" ", 2)
            counts[facility] += 1
    return counts


def merge(parts):
    total = collections.Counter()
    for part in parts:
        total.update(part)
    return dict(total)


def run_step(client, paths):
    try:
        parts = client.map(facilities, paths)
        return client.submit(merge, parts).result()
    except Exception:
        raise ParseStepFailed("step parse_logs ended abnormally") from None


def main():
    with tempfile.TemporaryDirectory() as root:
        write_logs(root)
        paths = sorted(os.path.join(root, n) for n in os.listdir(root))
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            print(run_step(client, paths))


if __name__ == "__main__":
    main()
