"""Yearly notices of the pension fund, one file of members per region.

Every region is read, its pensions are computed, and a notice file is
written.  A region that fails must not stop the others; the exit status tells
the mail room whether everything may be sent.
"""

import logging
import sys
import tempfile
from pathlib import Path

import pandas as pd
from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("notices")
REGIONS = ["east", "west", "north", "south", "islands", "abroad", "capital"]


def write_input(folder):
    for i, region in enumerate(REGIONS):
        rows = [
            f"{i:02d}{n:05d};{1950 + n % 20}-0{1 + n % 9}-11;{20 + n % 21};{2100 + n}"
            for n in range(400)
        ]
        if region == "abroad":
            # kept by hand by the consulate desk
            rows[233] = rows[233].replace(rows[233].split(";")[1], "31.11.1963")
        text = "member;born;years;salary\n" + "\n".join(rows)
        (folder / f"{region}.csv").write_text(text)


def read_members(path):
    return pd.read_csv(path, sep=";", dtype={"member": str})


def accrue(members, rate=0.0185):
    born = pd.to_datetime(members["born"], format="%Y-%m-%d")
    members = members.assign(retires=born + pd.DateOffset(years=66))
    members["pension"] = (members["salary"] * members["years"] * rate).round(2)
    return members


def add_supplement(members, region):
    if region == "islands":
        members["pension"] *= 1.04
    return members


def write_notices(members, region, out):
    path = Path(out) / f"notices-{region}.txt"
    with open(path, "w") as f:
        for m in members.itertuples():
            f.write(f"{m.member} {m.retires:%d.%m.%Y} {m.pension:.2f}\n")
    return len(members)


def optional_photo(region):
    """Portraits of the regional desks; most desks never sent one."""
    raise FileNotFoundError(f"portrait-{region}.png")


def run(client, folder):
    portraits = client.map(optional_photo, REGIONS[:2])
    for p in portraits:
        if p.exception() is not None:
            log.info("no portrait, using the seal of the fund")
    jobs = {}
    for region in REGIONS:
        members = client.submit(read_members, str(folder / f"{region}.csv"))
        accrued = client.submit(accrue, members)
        final = client.submit(add_supplement, accrued, region)
        jobs[client.submit(write_notices, final, region, str(folder))] = region
    failed = []
    for future in as_completed(jobs):
        region = jobs[future]
        try:
            log.info("%s: %d notices", region, future.result())
        except Exception as e:
            log.warning("%s left out (%s)", region, type(e).__name__)
            failed.append(region)
    return failed


def main():
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        write_input(folder)
        with LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            dashboard_address=None,
            memory_limit="400MB",
        ) as cluster:
            with Client(cluster) as client:
                failed = run(client, folder)
    if failed:
        sys.exit(
            f"{len(failed)} of {len(REGIONS)} regions failed, notices must not be sent"
        )


if __name__ == "__main__":
    main()
