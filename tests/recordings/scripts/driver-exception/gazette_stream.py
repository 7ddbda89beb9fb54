"""Parse gazette issues on the cluster; the driver archives the notices while they arrive."""

import json
import logging
import os
import tempfile
import threading
import time

import numpy as np
from dask.distributed import Client, LocalCluster, Queue, wait

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(threadName)s %(message)s")
log = logging.getLogger("gazette")

QUEUE = "notices"
BACKLOG = 6
END = "--end--"


def fetch_issue(number):
    rng = np.random.default_rng(number)
    time.sleep(0.05)
    pages = rng.integers(12, 60)
    return {
        "issue": number,
        "pages": int(pages),
        "words": rng.poisson(420, size=pages),
        "supplement": rng.poisson(90, size=4) if number % 11 == 10 else None,
    }


def parse_issue(issue):
    """Turn an issue into a few notices and hand them to the archive."""
    queue = Queue(QUEUE)
    words = issue["words"]
    notices = []
    for first in range(0, len(words), 12):
        notices.append(
            {
                "issue": issue["issue"],
                "first_page": first + 1,
                "words": int(words[first : first + 12].sum()),
            }
        )
    if issue["supplement"] is not None:
        notices.append(
            {
                "issue": issue["issue"],
                "first_page": issue["pages"] + 1,
                "words": issue["supplement"].sum(),
            }
        )
    for notice in notices:
        queue.put(notice)
    return len(notices)


class Archive(threading.Thread):
    def __init__(self, client, path):
        super().__init__(name="archive", daemon=True)
        self.queue = Queue(QUEUE, client=client, maxsize=BACKLOG)
        self.path = path
        self.written = 0

    def run(self):
        with open(self.path, "w") as handle:
            while True:
                notice = self.queue.get()
                if notice == END:
                    break
                handle.write(json.dumps(notice) + "\n")
                self.written += 1


def verify(path, expected):
    with open(path) as handle:
        lines = sum(1 for _ in handle)
    if lines != expected:
        raise SystemExit(f"archive has {lines} notices, {expected} expected")
    log.info("archive complete: %d notices", lines)


def main():
    issues = range(300, 345)
    with tempfile.TemporaryDirectory() as folder:
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="300MiB",
                dashboard_address=":0",
            ) as cluster,
            Client(cluster) as client,
        ):
            archive = Archive(client, os.path.join(folder, "archive.jsonl"))
            archive.start()

            raw = client.map(fetch_issue, issues, key="fetch_issue")
            parsed = client.map(parse_issue, raw, key="parse_issue")
            log.info("parsing %d issues", len(parsed))
            wait(parsed, timeout=25)

            total = sum(client.gather(parsed))
            archive.queue.put(END)
            archive.join(timeout=10)
            verify(archive.path, total)


if __name__ == "__main__":
    main()
