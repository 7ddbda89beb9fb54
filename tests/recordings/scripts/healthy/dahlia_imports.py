"""Import the dahlia catalogue; lines that cannot be read go to a reject file."""

import logging
import tempfile
from pathlib import Path

from distributed import Client, LocalCluster, as_completed

logging.basicConfig(level=logging.INFO)
log = logging.getLogger("imports")


def read_line(line):
    name, bulbs = line.split(";")
    return name, int(bulbs)


def main():
    lines = [f"dahlia-{n};{n * 3}" for n in range(40)]
    lines[4], lines[19] = "dahlia-4", "dahlia-19;many"
    with (
        tempfile.TemporaryDirectory() as tmp,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            local_directory=tmp,
        ) as cluster,
        Client(cluster) as client,
    ):
        futures = client.map(read_line, lines)
        lookup = dict(zip([f.key for f in futures], lines))
        good, rejects = [], []
        for future in as_completed(futures):
            try:
                good.append(future.result())
            except ValueError:
                log.exception("rejected")
                rejects.append(lookup[future.key])
        Path(tmp, "rejects.txt").write_text("\n".join(rejects))
    log.info("imported %d, rejected %d", len(good), len(rejects))
    assert len(rejects) == 2


if __name__ == "__main__":
    main()
