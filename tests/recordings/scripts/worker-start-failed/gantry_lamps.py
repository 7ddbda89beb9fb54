"""Gantry lamps: plans the phases of the motorway's gantry lamps from counted traffic.

The traffic group's library is a folder of plain modules; workers find it by PYTHONPATH.
"""

import logging
import os
import sys
import tempfile
import textwrap
from pathlib import Path

import dask
from dask.distributed import Client, LocalCluster

log = logging.getLogger("gantry")

LIBRARY = {
    "counts.py": """
        '''Vehicles per minute and lane.'''
        import math

        def per_minute(lane, hour):
            return 20 + 15 * math.sin((hour + lane) / 24 * math.tau)
    """,
    "signal.py": """
        '''Phases of one lamp: green, amber and red seconds for a flow.'''
        AMBER = 3

        def phases(flow, cycle=90):
            green = min(cycle - 2 * AMBER, max(7, round(flow * 1.6)))
            return green, AMBER, cycle - green - AMBER
    """,
    "plans.py": """
        '''Plan of a gantry.'''
        from counts import per_minute

        def hourly(gantry):
            return [round(sum(per_minute(lane + gantry % 3, hour) for lane in range(3)), 1) for hour in range(24)]
    """,
}


def install(folder):
    library = folder / "trafficlib"
    library.mkdir()
    for name, text in LIBRARY.items():
        (library / name).write_text(textwrap.dedent(text).lstrip())
    return library


def hourly_plan(gantry):
    import plans

    return gantry, plans.hourly(gantry)


def night_plan(rows):
    return {gantry: min(flows) for gantry, flows in rows}


class Planner:
    def __init__(self, library, gantries):
        self.library = library
        self.gantries = gantries
        self.cluster = None

    def __enter__(self):
        environment = {"PYTHONPATH": str(self.library), "OMP_NUM_THREADS": "1"}
        with dask.config.set(
            {
                "distributed.nanny.pre-spawn-environ": environment,
                "distributed.comm.timeouts.connect": "10s",
            }
        ):
            self.cluster = LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="300MB",
                host="127.0.0.1",
                dashboard_address=None,
            )
        self.client = Client(self.cluster)
        return self

    def __exit__(self, *exc):
        self.client.close()
        self.cluster.close()

    def run(self):
        rows = self.client.map(hourly_plan, range(self.gantries))
        return self.client.submit(night_plan, rows).result(timeout=30)


def main():
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    gantries = int(os.environ.get("GANTRIES", "18"))
    with tempfile.TemporaryDirectory() as name:
        library = install(Path(name))
        log.info("library with %d modules", len(LIBRARY))
        try:
            with Planner(library, gantries) as planner:
                for gantry, flow in planner.run().items():
                    print(f"gantry {gantry:3d} lowest flow {flow:6.1f}")
        except Exception:
            log.exception("no plan tonight, lamps stay on the fixed plan")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
