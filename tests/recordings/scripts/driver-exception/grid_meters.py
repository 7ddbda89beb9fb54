"""Hourly load of the grid's meters; scratch space is set by the job's environment file."""

import os
import tempfile

ENVIRONMENT = """
GRID_REGION=south
OMP_NUM_THREADS=1
DASK_TEMPORARY_DIRECTORY={scratch}/grid/scratch
"""


def load_environment(scratch):
    for line in ENVIRONMENT.format(scratch=scratch).split():
        name, _, value = line.partition("=")
        os.environ[name] = value


def prepare(folder):
    """The previous job keeps its lock where we expect our folder."""
    with open(os.path.join(folder, "grid"), "w") as f:
        f.write("locked by loadshed 4711\n")


def consumption(meter):
    return sum((meter * h * 31) % 97 for h in range(24))


def main():
    with tempfile.TemporaryDirectory() as folder:
        prepare(folder)
        load_environment(folder)
        import dask
        from dask.distributed import Client, LocalCluster

        dask.config.refresh()

        with LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster:
            with Client(cluster) as client:
                total = sum(client.gather(client.map(consumption, range(500))))
                print(os.environ["GRID_REGION"], total)


if __name__ == "__main__":
    main()
