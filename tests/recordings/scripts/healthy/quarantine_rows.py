"""Import with quarantine: up to 10 percent rejected files are acceptable."""

import logging
import os
import tempfile

from dask.distributed import Client, LocalCluster, wait

logging.basicConfig(level=logging.INFO)
log = logging.getLogger("import")


def parse(path):
    with open(path) as handle:
        return [float(line) for line in handle]


def main():
    with tempfile.TemporaryDirectory() as root:
        paths = []
        for i in range(30):
            paths.append(os.path.join(root, f"f{i:02d}.txt"))
            with open(paths[-1], "w") as out:
                out.write("1.5\n2.5\n" if i not in (7, 21) else "1.5\n??\n")
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            futures = client.map(parse, paths)
            wait(futures)
            bad = [(p, f) for p, f in zip(paths, futures) if f.status == "error"]
            for path, future in bad:
                log.error(
                    "quarantined %s",
                    os.path.basename(path),
                    exc_info=future.exception(),
                )
            share = len(bad) / len(paths)
            if share > 0.10:
                raise SystemExit(1)
            rows = client.gather([f for f in futures if f.status == "finished"])
            print("files", len(rows), "rejected share", round(share, 3))


if __name__ == "__main__":
    main()
