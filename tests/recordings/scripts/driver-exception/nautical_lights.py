"""Weekly light list: all navigation lights of a coast, with their ranges, for the printer and for the web.

The ranges are computed first; pictures of the light sectors are drawn in the background while the list is composed.
Scheduler and workers are processes of this job and end with it.
"""

import collections
import logging
import math
import os
import signal
import subprocess
import sys
import tempfile
import time

from dask.distributed import Client

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("lightlist")

LIGHTS = [
    {"name": "Gull Rock", "character": "Fl W 10s", "height": 41, "candela": 190_000},
    {"name": "Saltholm", "character": "Iso G 4s", "height": 12, "candela": 9_000},
    {"name": "North Pier", "character": "F R", "height": 8, "candela": 1_500},
    {
        "name": "Kettle Bank",
        "character": "Q(6)+LFl W 15s",
        "height": 22,
        "candela": 60_000,
    },
    {"name": "Old Mole", "character": "extinguished", "height": 15, "candela": 0},
    {"name": "Skerry Sound", "character": "Oc WRG 6s", "height": 30, "candela": 45_000},
]


class Installation:
    def __init__(self, workers=2):
        self.folder = tempfile.mkdtemp(prefix="lights-")
        self.address_file = os.path.join(self.folder, "address.json")
        python = [sys.executable, "-m"]
        self.scheduler = subprocess.Popen(
            python
            + [
                "distributed.cli.dask_scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--no-dashboard",
                "--scheduler-file",
                self.address_file,
            ]
        )
        self.workers = [
            subprocess.Popen(
                python
                + [
                    "distributed.cli.dask_worker",
                    "--scheduler-file",
                    self.address_file,
                    "--no-nanny",
                    "--nthreads",
                    "1",
                    "--memory-limit",
                    "400MB",
                    "--no-dashboard",
                    "--local-directory",
                    self.folder,
                    "--name",
                    f"draw-{number}",
                ]
            )
            for number in range(workers)
        ]

    def tear_down(self):
        for worker in self.workers:
            worker.send_signal(signal.SIGKILL)
        self.scheduler.kill()
        for process in [*self.workers, self.scheduler]:
            process.wait()


def ranges_of(light):
    """Geographical and luminous range in nautical miles."""
    time.sleep(0.2)
    row = {
        "name": light["name"],
        "geographical": 2.03 * (math.sqrt(light["height"]) + 2.1),
    }
    if light["candela"]:
        row["nominal"] = round(1.6 * math.log(light["candela"]), 1)
    return row


def draw_sectors(name):
    end, points = time.time() + 6, 0
    while time.time() < end:
        points += sum(1 for angle in range(360) if math.cos(math.radians(angle)) > 0)
        time.sleep(0.01)
    return name, points


def compose(rows):
    classes = collections.defaultdict(list)
    for row in sorted(rows, key=lambda row: row["name"]):
        classes["major" if row["nominal"] >= 15 else "minor"].append(
            f"{row['name']:<14}{row['geographical']:6.1f}{row['nominal']:6.1f}"
        )
    return "\n".join(classes["major"] + [""] + classes["minor"])


def publish(client):
    rows = client.gather(
        client.map(
            ranges_of, LIGHTS, key=[f"ranges-of-{i}" for i in range(len(LIGHTS))]
        )
    )
    log.info("ranges of %s lights", len(rows))
    pictures = [
        client.submit(draw_sectors, light["name"], key=f"draw-sectors-{i}")
        for i, light in enumerate(LIGHTS)
    ]
    time.sleep(1)
    page = compose(rows)
    return page, client.gather(pictures)


def main():
    installation = Installation()
    client = Client(scheduler_file=installation.address_file, timeout=20)
    try:
        client.wait_for_workers(2, timeout=20)
        page, pictures = publish(client)
        print(page, len(pictures))
    except Exception as error:
        log.error("list is not published")
        raise RuntimeError(
            "light list 48 was not published, the printer keeps list 47"
        ) from error
    finally:
        installation.tear_down()
        client.close(timeout=2)


if __name__ == "__main__":
    main()
