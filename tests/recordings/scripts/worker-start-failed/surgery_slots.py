"""Surgery slots: proposes free theatre slots for the waiting list. The tables that every worker needs are loaded
once by a module that the cluster's configuration names."""

import json
import logging
import os
import textwrap

import dask
import yaml
from dask.distributed import Client, LocalCluster

log = logging.getLogger("slots")

CONFIG = """
distributed:
  worker:
    preload:
      - theatre_tables.py
  comm:
    timeouts:
      connect: 15s
  nanny:
    pre-spawn-environ:
      OMP_NUM_THREADS: 1
"""

TABLES = '''
    """Loaded by each worker when it begins."""
    import json

    with open("hospital.json") as stream:
        HOSPITAL = json.load(stream)

    MINUTES = {name: row["minutes"] for name, row in HOSPITAL["procedures"].items()}
    OPENING = {name: row["opens"] for name, row in HOSPITAL["theatres"].items()}


    async def dask_setup(worker):
        worker.minutes = MINUTES
'''


def install(folder="."):
    """What the deployment would have put there."""
    with open(os.path.join(folder, "theatre_tables.py"), "w") as stream:
        stream.write(textwrap.dedent(TABLES).lstrip())
    hospital = {
        "procedures": {
            "hip": {"minutes": 95},
            "knee": {"minutes": 80},
            "cataract": {"minutes": 25},
        },
        "theatres": {
            "T1": {"opens": 7},
            "T2": {"opens": 7},
            "T3": {"opens": 9},
            "T4": {"closed": "until 2027"},
        },
    }
    with open(os.path.join(folder, "hospital.json"), "w") as stream:
        json.dump(hospital, stream, indent=1)
    with open(os.path.join(folder, "cluster.yaml"), "w") as stream:
        stream.write(CONFIG)


def configure(path="cluster.yaml"):
    with open(path) as stream:
        dask.config.update(dask.config.config, yaml.safe_load(stream))
    log.info("preload: %s", dask.config.get("distributed.worker.preload"))


def propose(patient, procedure):
    from distributed import get_worker

    return patient, procedure, get_worker().minutes[procedure]


def waiting_list():
    kinds = ["hip", "knee", "cataract", "cataract"]
    return [(f"P{number:04d}", kinds[number % 4]) for number in range(80)]


def plan():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        log.info("cluster at %s", cluster.scheduler_address)
        with Client(cluster) as client:
            patients, procedures = zip(*waiting_list())
            slots = client.gather(client.map(propose, patients, procedures))
            return sum(minutes for _, _, minutes in slots)


def main():
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    install()
    configure()
    log.info("%d minutes of surgery", plan())


if __name__ == "__main__":
    main()
