import json
import tempfile
from pathlib import Path

import dask.bag as db
from distributed import Client, LocalCluster


def log_files(folder, hours=8):
    for h in range(hours):
        lines = [
            json.dumps({"user": i % 40, "ms": 100 + i, "page": f"/p/{i % 7}"})
            for i in range(600)
        ]
        if h == 6:
            lines[417] = lines[417][:-9]
        (folder / f"click-{h:02d}.jsonl").write_text("\n".join(lines) + "\n")


def slow(event):
    return event["ms"] > 500


def page(event):
    return event["page"]


def report(counts):
    for name, n in sorted(counts, key=lambda kv: -kv[1]):
        print(f"{name:10s}{n:8d}")


def main():
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        log_files(folder)
        with Client(
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="300MB",
                dashboard_address=None,
            )
        ):
            events = db.read_text(str(folder / "click-*.jsonl")).map(json.loads)
            report(events.filter(slow).map(page).frequencies().compute())


if __name__ == "__main__":
    main()
