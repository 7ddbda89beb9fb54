"""Count the clicks of the clover shop from JSON lines."""

import json
import tempfile
from pathlib import Path

import dask.bag as db
from distributed import Client, LocalCluster


def write_logs(folder):
    for hour in range(4):
        lines = [json.dumps({"page": f"/p{n % 7}", "ms": n}) for n in range(400)]
        if hour == 2:
            lines[399] = lines[399][:14]
        (folder / f"clicks-{hour:02d}.jsonl").write_text("\n".join(lines) + "\n")


def parse_click(line):
    return json.loads(line)


def main():
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        write_logs(folder)
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                dashboard_address=None,
                local_directory=tmp,
            ) as cluster,
            Client(cluster),
        ):
            clicks = db.read_text(str(folder / "clicks-*.jsonl")).map(parse_click)
            print(clicks.pluck("page").frequencies().compute(scheduler="distributed"))


if __name__ == "__main__":
    main()
