"""Daily feed plan of the trout hatcheries.

Every pond sends counts and water temperatures; from these the amount of feed per pond is worked out and written as
one JSON file for the feeding robots. The workers load the settings of their site from sites.ini when they come up.
"""

import json
import logging
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from distributed import Client

log = logging.getLogger("hatchery")

SITES = """\
[site:north]
ponds = 14
oxygen_probe = ysi-55
temperature_offset = 0.3

[site:south]
ponds = 9
temperature_offset = 0.1
"""

FEED_SITE = '''\
"""Settings of the site, loaded by every worker when it starts."""
import configparser
import os

settings = {}


def dask_setup(worker):
    parser = configparser.ConfigParser()
    parser.read(os.environ["HATCHERY_SITES"])
    section = "site:" + os.environ["HATCHERY_SITE"]
    settings["probe"] = parser.get(section, "oxygen_probe")
    settings["ponds"] = parser.getint(section, "ponds")
    settings["offset"] = parser.getfloat(section, "temperature_offset")
'''


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def feed_for(pond, grams, celsius):
    import feed_site

    if pond > feed_site.settings["ponds"]:
        raise ValueError(f"pond {pond} is not known")
    rate = 0.012 + 0.0009 * max(celsius + feed_site.settings["offset"] - 6, 0)
    return {"pond": pond, "feed": round(grams * rate, 1)}


def read_overrides(folder):
    try:
        return json.loads((folder / "overrides.json").read_text())
    except FileNotFoundError as e:
        log.warning("no overrides today: %s", e)
        return {}


def start_processes(folder, site):
    env = dict(os.environ, HATCHERY_SITES=str(folder / "sites.ini"), HATCHERY_SITE=site)
    port = free_port()
    dask = [sys.executable, "-m", "dask"]
    processes = [
        subprocess.Popen(
            dask
            + [
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                str(port),
                "--no-dashboard",
            ],
            cwd=folder,
            env=env,
        )
    ]
    address = f"tcp://127.0.0.1:{port}"
    for i in range(2):
        processes.append(
            subprocess.Popen(
                dask
                + [
                    "worker",
                    address,
                    "--nthreads",
                    "1",
                    "--memory-limit",
                    "300MB",
                    "--no-dashboard",
                    "--name",
                    f"{site}-{i}",
                    "--preload",
                    "feed_site.py",
                    "--death-timeout",
                    "30",
                ],
                cwd=folder,
                env=env,
            )
        )
    return address, processes


def plan(site):
    folder = Path(tempfile.mkdtemp(prefix="hatchery-"))
    (folder / "sites.ini").write_text(SITES)
    (folder / "feed_site.py").write_text(FEED_SITE)
    overrides = read_overrides(folder)
    address, processes = start_processes(folder, site)
    try:
        with Client(address, timeout=20) as client:
            for attempt in (1, 2):
                try:
                    client.wait_for_workers(2, timeout=7)
                    break
                except TimeoutError as e:
                    if attempt == 2:
                        raise
                    log.warning("not all feeders are up yet (%s), waiting once more", e)
            futures = client.map(
                feed_for, range(1, 9), [48000.0] * 8, [9.5 + i / 4 for i in range(8)]
            )
            rows = client.gather(futures)
            for row in rows:
                row["feed"] = overrides.get(str(row["pond"]), row["feed"])
            (folder / f"feed-{site}.json").write_text(json.dumps(rows))
            log.info("%d ponds planned", len(rows))
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            process.wait(10)


if __name__ == "__main__":
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    started = time.time()
    try:
        plan(sys.argv[1] if len(sys.argv) > 1 else "south")
    finally:
        log.info("feed plan ended after %.0f s", time.time() - started)
