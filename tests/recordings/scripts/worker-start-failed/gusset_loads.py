"""Load checks of gusset plates for a steel builder.

The checks call a commercial solver.  Each worker process takes a seat of it when it starts (a WorkerPlugin does
that) and gives it back when it stops.  The day's job starts small and is scaled when the drawings are in.
"""

import json
import os
import pathlib
import tempfile

import click
import numpy as np
from distributed import Client, LocalCluster, WorkerPlugin, get_worker


class SeatRefused(RuntimeError):
    pass


class Solver:
    """Stand-in of the vendor's session."""

    def __init__(self, seat):
        self.seat = seat

    def utilisation(self, force, thickness):
        width = 180.0
        stress = force * 1000 / (width * thickness)
        for _ in range(200):
            stress = np.sqrt(stress**2 + 3 * (0.05 * stress) ** 2) * 0.999
        return float(stress / 235.0)


class SolverSeat(WorkerPlugin):
    """Takes a seat in the folder of the licence server: one file for each session."""

    name = "solver-seat"

    def __init__(self, folder):
        self.folder = folder
        self.path = None

    def setup(self, worker):
        folder = pathlib.Path(self.folder)
        allowed = json.loads((folder / "licence.json").read_text())["seats"]
        for number in range(allowed):
            path = folder / f"seat_{number}"
            try:
                descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
            except FileExistsError:
                continue
            os.write(descriptor, f"{worker.name} {os.getpid()}".encode())
            os.close(descriptor)
            self.path = path
            worker.solver = Solver(number)
            return
        raise SeatRefused(f"GUSSOLVE: all {allowed} seats are in use")

    def teardown(self, worker):
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def drawings(count):
    rng = np.random.default_rng(11)
    return [
        {
            "plate": f"G{n:03d}",
            "force": float(rng.uniform(80, 400)),
            "thickness": float(rng.choice([8, 10, 12])),
        }
        for n in range(count)
    ]


def check(plate):
    worker = get_worker()
    return plate["plate"], worker.solver.utilisation(plate["force"], plate["thickness"])


@click.command()
@click.option("--plates", default=80, show_default=True)
@click.option("--workers", default=4, show_default=True)
def main(plates, workers):
    """Check all plates of today's drawings."""
    with tempfile.TemporaryDirectory(prefix="gusset-") as folder:
        (pathlib.Path(folder) / "licence.json").write_text(
            json.dumps({"product": "GUSSOLVE", "seats": 2})
        )
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                memory_limit="250MB",
                dashboard_address=None,
            ) as cluster,
            Client(cluster) as client,
        ):
            client.register_plugin(SolverSeat(folder))
            sample = client.gather(client.map(check, drawings(6), key="sample"))
            click.echo(
                f"sample of {len(sample)} plates checked, highest {max(value for _, value in sample):.2f}"
            )

            cluster.scale(workers)
            client.wait_for_workers(workers, timeout=30)
            results = dict(
                client.gather(client.map(check, drawings(plates), key="check"))
            )
        over = {plate: value for plate, value in results.items() if value > 1}
        click.echo(f"{len(over)} of {len(results)} plates over the limit")


if __name__ == "__main__":
    main()
