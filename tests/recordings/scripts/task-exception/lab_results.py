import pathlib
import shutil
import subprocess
import tempfile

import pandas as pd
from dask.distributed import Client, LocalCluster, as_completed

LABS = ["hematology", "chemistry", "immunology", "urology"]
CONVERTER = "#!/bin/sh\ntr ';' ',' < \"$1\"\n"


def deliver(inbox, lab):
    path = inbox / f"{lab}.txt"
    pd.DataFrame({"sample": range(500), "value": [x / 7 for x in range(500)]}).to_csv(
        path, index=False, sep=";"
    )
    tool = inbox / "bin" / f"hl7-{lab}"
    tool.parent.mkdir(exist_ok=True)
    tool.write_text(CONVERTER)
    tool.chmod(0o644 if lab == "immunology" else 0o755)
    return str(tool), str(path)


def read_lab(job):
    tool, path = job
    text = subprocess.run(
        [tool, path], check=True, capture_output=True, text=True
    ).stdout
    rows = [line.split(",") for line in text.splitlines()[1:]]
    return pathlib.Path(path).stem, sum(float(v) for _, v in rows) / len(rows)


def main():
    inbox = pathlib.Path(tempfile.mkdtemp(prefix="lims-"))
    jobs = [deliver(inbox, lab) for lab in LABS]
    try:
        with LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster:
            with Client(cluster) as client:
                futures = client.map(read_lab, jobs)
                for _, (name, mean) in as_completed(futures, with_results=True):
                    print(f"{name}: mean={mean:.3f}")
    finally:
        shutil.rmtree(inbox, ignore_errors=True)


if __name__ == "__main__":
    main()
