import logging
import os
import shutil
import tempfile

import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster, wait

log = logging.getLogger("export")
REGIONS = ["alps", "basel", "geneva", "jura", "ticino", "valais", "vaud", "zurich"]


def policies(region):
    rng = np.random.default_rng(len(region))
    n = 20_000
    return pd.DataFrame(
        {
            "policy": np.arange(n),
            "region": region,
            "premium": rng.gamma(2, 300, n).round(2),
        }
    )


def export(frame, path):
    frame.to_csv(path, index=False)
    return path, len(frame)


def prepare(folder):
    targets = {}
    for region in REGIONS:
        os.makedirs(os.path.join(folder, region))
        targets[region] = os.path.join(folder, region, "policies.csv")
    os.symlink("/dev/full", targets["ticino"])
    return targets


def main():
    logging.basicConfig(level=logging.WARNING)
    folder = tempfile.mkdtemp(prefix="policies-")
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    client = Client(cluster)
    try:
        targets = prepare(folder)
        frames = client.map(policies, REGIONS)
        written = [
            client.submit(export, f, targets[r], key=f"export-{r}")
            for f, r in zip(frames, REGIONS)
        ]
        wait(written)
        done = [f for f in written if f.status == "finished"]
        log.warning("%d of %d regions exported", len(done), len(written))
        if len(done) < len(written):
            raise SystemExit("export incomplete, not publishing")
        print("published", sum(n for _, n in client.gather(done)))
    finally:
        client.close()
        cluster.close()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
