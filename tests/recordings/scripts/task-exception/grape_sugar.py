"""Sugar of the grapes: each vineyard's task writes its own folder, with retries."""

import random
import shutil
import tempfile
from functools import partial
from pathlib import Path

from dask.distributed import Client


def samples(vineyard):
    rng = random.Random(vineyard)
    rows = [f"{rng.uniform(17, 26):.1f}" for _ in range(40)]
    if vineyard == 4:
        rows[22] = "n/a (rain)"
    return rows


def must_weight(root, vineyard):
    target = Path(root) / f"vineyard-{vineyard}"
    target.mkdir()
    brix = [float(row) for row in samples(vineyard)]
    (target / "oechsle.txt").write_text("\n".join(f"{b * 4.25:.0f}" for b in brix))
    return sum(brix) / len(brix)


def main():
    root = tempfile.mkdtemp(prefix="grapes-")
    client = Client(n_workers=1, threads_per_worker=2, dashboard_address=":0")
    try:
        means = client.map(partial(must_weight, root), range(8), retries=2)
        print([round(m, 1) for m in client.gather(means)])
    finally:
        client.shutdown()
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
