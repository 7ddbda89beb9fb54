"""Count page views per path from rotated JSON-lines logs."""

import json
import random
import tempfile
from pathlib import Path

import dask.bag as db
from dask.distributed import Client, LocalCluster


def rotate_logs(root):
    random.seed(3)
    for hour in range(10):
        lines = [
            json.dumps(
                {
                    "path": random.choice(["/", "/cart", "/search", "/help"]),
                    "ms": random.randint(5, 900),
                    "hour": hour,
                }
            )
            for _ in range(3000)
        ]
        text = "\n".join(lines) + "\n"
        if hour == 7:
            text = text[: len(text) // 2 - 11]
        (root / f"access-{hour:02d}.jsonl").write_text(text)


def parse(line):
    return json.loads(line)


def main():
    with tempfile.TemporaryDirectory() as tmp:
        rotate_logs(Path(tmp))
        with LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster:
            with Client(cluster):
                events = db.read_text(f"{tmp}/access-*.jsonl").map(parse)
                slow = events.filter(lambda e: e["ms"] > 500)
                print(dict(slow.pluck("path").frequencies().compute()))


if __name__ == "__main__":
    main()
