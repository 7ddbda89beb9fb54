"""Rigging of sailing yachts: masts are solved by the old mast program, sails are rated by the club's formula.

mastcalc is a port of a Fortran program of the nineties; it is sent to the workers with the job.
"""

import argparse
import csv
import logging
import os
import textwrap

from distributed import Client, LocalCluster, wait
from distributed.scheduler import KilledWorker

MASTCALC = textwrap.dedent(
    '''
    """Stresses in a stayed mast."""
    import os
    import sys
    import time


    def stop(code, text):
        sys.stderr.write("MASTCALC: " + text + "\\n")
        sys.stderr.flush()
        os._exit(code)


    def inertia(outer, inner):
        value = 3.14159 * (outer ** 4 - inner ** 4) / 64
        if value <= 0:
            stop(74, "SECTION WITHOUT INERTIA - RUN ENDED")
        return value


    def stress(length, outer, inner, load):
        time.sleep(0.5)
        moment = load * length / 8
        return moment * outer / 2 / inertia(outer, inner)
    '''
)

log = logging.getLogger("rigging")


def write_masts(path):
    with open(path, "w", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(["id", "length", "outer", "inner", "load"])
        for n in range(1, 13):
            outer, inner = 0.16, 0.15
            if n == 7:
                outer, inner = inner, outer
            rows.writerow([f"M{n:02d}", 12 + n, outer, inner, 900 + 20 * n])


def read_masts(path):
    with open(path, newline="") as source:
        return [
            {k: v if k == "id" else float(v) for k, v in row.items()}
            for row in csv.DictReader(source)
        ]


def solve_mast(mast):
    import mastcalc

    return mast["id"], mastcalc.stress(
        mast["length"], mast["outer"], mast["inner"], mast["load"]
    )


def rate_sail(number):
    area = 20.0
    import time

    for step in range(20):
        time.sleep(0.08)
        area += (number * step) % 7 * 0.1
    return number, round(area, 1)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--masts", default="masts.csv")
    parser.add_argument("--sails", type=int, default=16)
    args = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO)
    os.environ.setdefault("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "1")
    import dask

    dask.config.refresh()
    write_masts(args.masts)
    with open("mastcalc.py", "w") as out:
        out.write(MASTCALC)

    with LocalCluster(
        n_workers=2, threads_per_worker=2, memory_limit="350MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            client.upload_file("mastcalc.py")
            sails = client.map(rate_sail, range(args.sails))
            masts = [
                client.submit(solve_mast, m, key=f"solve_mast-{m['id']}", priority=1)
                for m in read_masts(args.masts)
            ]
            wait(sails + masts)
            lost = []
            for future in sails + masts:
                if future.status == "error":
                    if not isinstance(future.exception(), KilledWorker):
                        future.result()
                    lost.append(future.key)
            log.info(
                "%d results, %d without", len(sails + masts) - len(lost), len(lost)
            )
            if lost:
                raise SystemExit(
                    f"{len(lost)} results missing, certificates not printed"
                )


if __name__ == "__main__":
    main()
