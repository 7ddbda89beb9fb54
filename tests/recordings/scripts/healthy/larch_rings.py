"""Widths of tree rings in larch cores, put on a common time axis.

The machines of the institute join when their users go home: the job starts with none, and takes each as it comes.
"""

import subprocess
import sys
import threading
import time

import numpy as np
from distributed import Client, LocalCluster, as_completed


def measure(core, years=300):
    rng = np.random.default_rng(core)
    time.sleep(0.4)
    return rng.gamma(4.0, 0.25, years) * np.linspace(1.4, 0.7, years)


def detrend(widths):
    years = np.arange(len(widths))
    slope, start = np.polyfit(years, widths, 1)
    time.sleep(0.1)
    return widths / (slope * years + start)


def chronology(indices):
    return np.mean(indices, axis=0)


class EveningMachines(threading.Thread):
    """Starts one worker after the other."""

    def __init__(self, address, pauses):
        super().__init__()
        self.address = address
        self.pauses = pauses
        self.processes = []

    def run(self):
        for number, pause in enumerate(self.pauses, 1):
            time.sleep(pause)
            print(f"machine {number} is free", flush=True)
            self.processes.append(
                subprocess.Popen(
                    [
                        sys.executable,
                        "-m",
                        "dask",
                        "worker",
                        self.address,
                        "--name",
                        f"desk-{number}",
                        "--nthreads",
                        "1",
                        "--memory-limit",
                        "300MB",
                        "--no-nanny",
                        "--no-dashboard",
                    ]
                )
            )

    def stop(self):
        self.join()
        for process in self.processes:
            process.terminate()
        return [process.wait(15) for process in self.processes]


def main():
    with (
        LocalCluster(n_workers=0, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        machines = EveningMachines(cluster.scheduler_address, [3, 3, 4])
        machines.start()
        try:
            measured = client.map(measure, range(60))
            flat = client.map(detrend, measured)
            mean = client.submit(chronology, flat)
            for n, _ in enumerate(as_completed(flat), 1):
                if n % 20 == 0:
                    print(f"{n} cores done", flush=True)
            curve = mean.result()
        finally:
            machines.stop()
    np.savetxt("chronology.txt", curve)
    print(f"{len(curve)} years, mean {curve.mean():.3f}")
    assert abs(curve.mean() - 1) < 0.05


if __name__ == "__main__":
    main()
