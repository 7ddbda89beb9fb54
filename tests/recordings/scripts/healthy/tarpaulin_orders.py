"""Orders of a tarpaulin maker: reads what the agents have mailed, skips what is no order file.

Skipped files go to the log and to `skipped.txt`; more than a third of skipped
files ends the run with code 5.
"""

import gzip
import json
import logging
import sys
from pathlib import Path

import pandas as pd
from dask.distributed import Client, as_completed

log = logging.getLogger("orders")


def agents_mail(box: Path) -> list[Path]:
    box.mkdir(exist_ok=True)
    for number in range(18):
        orders = [
            {
                "agent": number,
                "order": f"{number}-{n}",
                "metres": (n * 13) % 50 + 1,
                "colour": ["green", "blue"][n % 2],
            }
            for n in range(200)
        ]
        payload = gzip.compress(json.dumps(orders).encode())
        if number == 4:
            payload = payload[: len(payload) // 2]
        elif number == 11:
            payload = b"Dear all, please find enclosed nothing"
        elif number == 15:
            payload = gzip.compress(
                json.dumps([{"agent": 15, "order": "15-0", "meters": 3}]).encode()
            )
        (box / f"agent{number:02d}.json.gz").write_bytes(payload)
    return sorted(box.glob("*.json.gz"))


def read_orders(path: str) -> pd.DataFrame:
    with gzip.open(path, "rt") as file:
        frame = pd.DataFrame(json.load(file))
    frame["area"] = frame["metres"] * 1.5
    return frame


def collect(client, paths):
    futures = {
        client.submit(read_orders, str(p), key=f"read-{p.name}"): p for p in paths
    }
    frames, skipped = [], []
    for future in as_completed(futures):
        path = futures[future]
        if future.status == "error":
            error = future.exception()
            log.warning("skipping %s: %s: %s", path.name, type(error).__name__, error)
            skipped.append(path.name)
        else:
            frames.append(future.result())
    return pd.concat(frames, ignore_index=True), sorted(skipped)


def main() -> int:
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    paths = agents_mail(Path("mailbox"))
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        orders, skipped = collect(client, paths)
        Path("skipped.txt").write_text("\n".join(skipped) + "\n")
        if len(skipped) * 3 > len(paths):
            log.error("%d of %d files skipped", len(skipped), len(paths))
            return 5
        future = client.scatter(orders)
        area = client.submit(
            lambda t: t.groupby("colour")["area"].sum(), future
        ).result()
        area.to_csv("area.csv")
        log.info(
            "%d orders from %d files, %d skipped",
            len(orders),
            len(paths) - len(skipped),
            len(skipped),
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
