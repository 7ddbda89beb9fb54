"""Sessions per country from the gzip click files of the night."""

import gzip
import json
import os
import tempfile

from dask.distributed import Client, LocalCluster, wait

COUNTRIES = ["de", "at", "ch", "fr"]


def receive(root):
    for hour in range(8):
        payload = "\n".join(
            json.dumps(
                {
                    "session": f"{hour}-{i // 4}",
                    "country": COUNTRIES[i % 4],
                    "ms": i * 3 % 900,
                }
            )
            for i in range(5000)
        ).encode()
        blob = gzip.compress(payload)
        if hour == 5:
            blob = blob[: len(blob) * 2 // 3]
        with open(os.path.join(root, f"clicks-{hour:02d}.json.gz"), "wb") as out:
            out.write(blob)


def sessions(path):
    seen = {}
    with gzip.open(path, "rt") as handle:
        for line in handle:
            event = json.loads(line)
            seen.setdefault(event["country"], set()).add(event["session"])
    return {country: len(ids) for country, ids in seen.items()}


def main():
    with tempfile.TemporaryDirectory() as root:
        receive(root)
        paths = sorted(os.path.join(root, n) for n in os.listdir(root))
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            futures = client.map(sessions, paths)
            wait(futures)
            hours = client.gather(futures, errors="skip")
            totals = {c: sum(h.get(c, 0) for h in hours) for c in COUNTRIES}
            print("hours", len(hours), totals)
            assert len(hours) == len(paths), "incomplete day, not publishing"


if __name__ == "__main__":
    main()
