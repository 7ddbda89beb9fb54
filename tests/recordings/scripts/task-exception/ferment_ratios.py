"""Acid-to-volume ratios of the fermentation vats, read from the controller's line log."""

import json
import random
import tempfile
import time
from pathlib import Path

import dask.bag as db
from dask.distributed import Client, LocalCluster


def write_logs(folder):
    random.seed(23)
    for cellar in range(10):
        with open(folder / f"cellar_{cellar:02d}.jsonl", "w") as out:
            for minute in range(600):
                record = {
                    "vat": f"V{cellar:02d}{minute % 12:02d}",
                    "minute": minute,
                    "acid_g": round(random.uniform(20, 90), 2),
                    "litres": round(random.uniform(200, 800), 1),
                }
                if cellar == 6 and 300 <= minute < 312 and minute % 12 == 5:
                    record["litres"] = 0.0
                out.write(json.dumps(record) + "\n")


def parse(line):
    return json.loads(line)


def acid_ratio(record):
    return {"vat": record["vat"], "ratio": record["acid_g"] / record["litres"]}


def keep_going(partition):
    time.sleep(0.9)
    return partition


def add(total, item):
    return total[0] + item["ratio"], total[1] + 1


def merge(left, right):
    return left[0] + right[0], left[1] + right[1]


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_logs(folder)
        with LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            memory_limit="500MB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster):
                lines = db.read_text(str(folder / "cellar_*.jsonl"))
                records = lines.map(parse).map_partitions(keep_going)
                print("records:", records.count().compute())
                ratios = records.map(acid_ratio)
                means = ratios.foldby("vat", add, (0.0, 0), merge, (0.0, 0)).compute()
                for vat, (total, count) in sorted(means)[:10]:
                    print(vat, round(total / count, 4))


if __name__ == "__main__":
    main()
