"""Street-level emission grids for the city's air-quality bulletin.

First traffic counts are spread over the road cells, then a dispersion model runs for each district.  The model is
licensed per seat, so only workers that own a seat run it.
"""

import dataclasses
import logging
import os
import subprocess
import sys
import time

import numpy as np
from distributed import Client, as_completed, wait

logger = logging.getLogger("bulletin")

DISTRICTS = ["north", "harbour", "old-town", "university", "airport", "hills"]


@dataclasses.dataclass
class Plan:
    workers: int = 2
    seats_per_worker: int = 1
    stage_timeout: float = 12.0
    worker_resources: str = "dispersion_seats={seats}"
    model_resources: dict = dataclasses.field(
        default_factory=lambda: {"dispersion_seat": 1}
    )


class Bulletin:
    def __init__(self, plan):
        self.plan = plan
        self.procs = []
        self.client = None

    def start(self):
        cmd = [sys.executable, "-m", "dask"]
        self.procs.append(
            subprocess.Popen(
                cmd
                + [
                    "scheduler",
                    "--host",
                    "127.0.0.1",
                    "--port",
                    "0",
                    "--no-dashboard",
                    "--scheduler-file",
                    "bulletin.json",
                ]
            )
        )
        for i in range(self.plan.workers):
            self.procs.append(
                subprocess.Popen(
                    cmd
                    + [
                        "worker",
                        "--scheduler-file",
                        "bulletin.json",
                        "--nthreads",
                        "1",
                        "--no-dashboard",
                        "--name",
                        f"air-{i}",
                        "--no-nanny",
                        "--resources",
                        self.plan.worker_resources.format(
                            seats=self.plan.seats_per_worker
                        ),
                    ]
                )
            )
        self.client = Client(scheduler_file="bulletin.json", timeout=15)
        self.client.wait_for_workers(self.plan.workers, timeout=20)

    def stop(self):
        if self.client is not None:
            self.client.close()
        for p in reversed(self.procs):
            p.terminate()
        for p in self.procs:
            try:
                p.wait(8)
            except subprocess.TimeoutExpired:
                p.kill()

    @staticmethod
    def spread_traffic(district, hour):
        rng = np.random.default_rng(hash((len(district), hour)) % 2**32)
        time.sleep(0.1)
        return rng.gamma(2.0, 30.0, size=(200, 200))

    @staticmethod
    def disperse(district, cells, wind):
        field = np.mean(cells, axis=0)
        for _ in range(20):
            field = 0.6 * field + 0.4 * np.roll(field, wind, axis=(0, 1))
        return district, float(field.max())

    def run(self):
        hours = range(7, 11)
        cells = {
            d: [
                self.client.submit(self.spread_traffic, d, h, key=f"traffic-{d}-{h}")
                for h in hours
            ]
            for d in DISTRICTS
        }
        wait([f for fs in cells.values() for f in fs], timeout=30)
        logger.info("traffic of %d districts is spread", len(cells))

        runs = [
            self.client.submit(
                self.disperse,
                d,
                cells[d],
                (1, 2),
                key=f"disperse-{d}",
                resources=self.plan.model_resources,
            )
            for d in DISTRICTS
        ]
        peaks = {}
        for f in as_completed(runs, timeout=self.plan.stage_timeout):
            d, peak = f.result()
            peaks[d] = peak
        return peaks


def main():
    logging.basicConfig(level=os.environ.get("LOGLEVEL", "INFO"))
    bulletin = Bulletin(Plan())
    peaks = {}
    try:
        bulletin.start()
        peaks = bulletin.run()
    except TimeoutError:
        logger.error("the model stage took too long, bulletin is not published")
        raise SystemExit(3)
    finally:
        bulletin.stop()
        with open("peaks.csv", "w") as f:
            f.writelines(f"{d},{p:.1f}\n" for d, p in sorted(peaks.items()))


if __name__ == "__main__":
    main()
