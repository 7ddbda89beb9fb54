"""Hedgerow survey: the figures are made by a helper program that shares our cluster."""

import os
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

from dask.distributed import Client, LocalCluster

HELPER = """
    import json
    import sys
    from dask.distributed import Client

    def hedge_figures(row):
        parish, metres, gaps = row
        return {"parish": parish, "gap_share": sum(gaps) / metres, "longest": max(gaps)}

    def main(address, source, target):
        rows = json.load(open(source))
        with Client(address) as client:
            figures = client.gather(client.map(hedge_figures, rows))
        json.dump(figures, open(target, "w"))

    if __name__ == "__main__":
        main(*sys.argv[1:])
"""


def survey(parish):
    time.sleep(0.3)
    gaps = [3 + step % 5 for step in range(parish % 6)]
    return parish, 400.0 + parish, gaps


def run_helper(folder, address, source, target):
    program = folder / "hedge_helper.py"
    program.write_text(textwrap.dedent(HELPER))
    with open(folder / "helper.log", "wb") as log:
        return subprocess.run(
            [sys.executable, str(program), address, str(source), str(target)],
            stdout=log,
            stderr=log,
            cwd=folder,
            env=dict(os.environ),
        )


def main():
    import json

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster) as client:
                rows = client.gather(client.map(survey, range(1, 21)))
                source, target = folder / "rows.json", folder / "figures.json"
                source.write_text(json.dumps(rows))
                run_helper(folder, cluster.scheduler_address, source, target)
                figures = json.loads(target.read_text())
                print(
                    "parishes:",
                    len(figures),
                    "worst:",
                    max(figure["gap_share"] for figure in figures),
                )


if __name__ == "__main__":
    main()
