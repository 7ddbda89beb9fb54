"""Enzyme assays: Michaelis-Menten constants for each plate of the week.

The fitting code is the laboratory's own package in vendor/, shared by several
jobs. The scheduler runs beside this script; the workers are started by the
farm agent, the way it starts them for everybody.
"""

import os
import pathlib
import subprocess
import sys
import textwrap

VENDOR = pathlib.Path("vendor").absolute()

PACKAGE = {
    "__init__.py": "from .fits import fit_plate\n",
    "fits.py": textwrap.dedent(
        '''
        import numpy as np


        def fit_plate(plate):
            """Lineweaver-Burk: 1/v over 1/s."""
            slope, intercept = np.polyfit(1 / plate["substrate"], 1 / plate["rate"], 1)
            vmax = 1 / intercept
            return {"plate": plate["name"], "vmax": float(vmax), "km": float(slope * vmax)}
        '''
    ),
}


def check_out_vendor():
    target = VENDOR / "lab_kinetics"
    target.mkdir(parents=True, exist_ok=True)
    for name, text in PACKAGE.items():
        (target / name).write_text(text)


class FarmAgent:
    """Starts and stops workers on this host."""

    def __init__(self, slots):
        self.slots = slots
        self.workers = []

    def attach(self, address):
        home = pathlib.Path("farm").absolute()
        home.mkdir(exist_ok=True)
        for slot in range(self.slots):
            self.workers.append(
                subprocess.Popen(
                    [
                        sys.executable,
                        "-m",
                        "distributed.cli.dask_worker",
                        address,
                        "--name",
                        f"slot{slot}",
                        "--nthreads",
                        "1",
                        "--memory-limit",
                        "400MB",
                        "--no-dashboard",
                        "--local-directory",
                        str(home),
                    ],
                    cwd=home,
                )
            )

    def detach(self):
        for worker in self.workers:
            worker.terminate()
        for worker in self.workers:
            try:
                worker.wait(8)
            except subprocess.TimeoutExpired:
                worker.kill()


def read_plate(name):
    import numpy as np

    rng = np.random.default_rng(sum(map(ord, name)))
    substrate = np.linspace(0.5, 8, 24)
    rate = 3.1 * substrate / (1.4 + substrate) * rng.normal(1, 0.01, substrate.size)
    return {"name": name, "substrate": substrate, "rate": rate}


def main(week):
    check_out_vendor()
    sys.path.insert(0, str(VENDOR))
    from distributed import Client, LocalCluster, wait
    from lab_kinetics import fit_plate

    plates = [f"{week}-{letter}{n}" for letter in "ABCD" for n in range(1, 6)]
    # The fit is tried here first: a broken plate layout shows before the farm is used.
    print("sample:", fit_plate(read_plate(plates[0])))

    agent = FarmAgent(slots=2)
    with (
        LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        agent.attach(cluster.scheduler_address)
        try:
            client.wait_for_workers(2, timeout=25)
            data = client.map(read_plate, plates)
            fits = client.map(fit_plate, data, retries=1)
            wait(fits, timeout=18)
            for fit in client.gather(fits):
                print(f"{fit['plate']}: km {fit['km']:.2f}, vmax {fit['vmax']:.2f}")
        except Exception as error:
            print(
                f"week {week} is not complete: {type(error).__name__}", file=sys.stderr
            )
            raise
        finally:
            agent.detach()


if __name__ == "__main__":
    main(os.environ.get("ASSAY_WEEK", "2026w48"))
