"""Normalises the ferry manifests of the day with our manifestlib release."""

import argparse
import logging
import os
import subprocess
import sys
import tempfile
import time

from dask.distributed import Client

log = logging.getLogger("manifests")

RELEASES = {
    "2026.3": """
__version__ = "2026.3"
PORTS = {"HEL": "Helsinki", "TLL": "Tallinn"}
def parse_line(line):
    ship, port, people = line.split("|")
    return {"ship": ship, "port": port, "people": int(people)}
""",
    "2026.4": """
__version__ = "2026.4"
import time
PORTS = {"HEL": "Helsinki", "TLL": "Tallinn", "STO": "Stockholm", "ALD": "Mariehamn"}
def parse_line(line):
    ship, port, people = line.split("|")
    return {"ship": ship, "port": port, "people": int(people)}
def resolve_port(record):
    time.sleep(0.1)
    return dict(record, port=PORTS.get(record["port"], record["port"]))
""",
}


def install(base):
    """Every release has its own folder; `current` is what the machines use."""
    for version, text in RELEASES.items():
        folder = os.path.join(base, "releases", version)
        os.makedirs(folder)
        with open(os.path.join(folder, "manifestlib.py"), "w") as out:
            out.write(text)
    os.symlink(os.path.join(base, "releases", "2026.3"), os.path.join(base, "current"))
    sys.path.insert(0, os.path.join(base, "releases", "2026.4"))


def start(base, workers):
    env = dict(os.environ, PYTHONPATH=os.path.join(base, "current"))
    address = os.path.join(base, "scheduler.json")
    run = [sys.executable, "-m", "dask"]
    processes = [
        subprocess.Popen(
            [
                *run,
                "scheduler",
                "--host",
                "127.0.0.1",
                "--port",
                "0",
                "--dashboard-address",
                "127.0.0.1:0",
                "--scheduler-file",
                address,
            ],
            env=env,
            cwd=base,
        )
    ]
    for number in range(workers):
        processes.append(
            subprocess.Popen(
                [
                    *run,
                    "worker",
                    "--scheduler-file",
                    address,
                    "--name",
                    f"pier-{number}",
                    "--nthreads",
                    "1",
                    "--memory-limit",
                    "250MiB",
                    "--host",
                    "127.0.0.1",
                    "--local-directory",
                    base,
                ],
                env=env,
                cwd=base,
            )
        )
    return address, processes


def stop(processes):
    for process in reversed(processes):
        process.terminate()
    for process in processes:
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def make_lines(count):
    ports = ["HEL", "TLL", "STO", "ALD"]
    return [f"MS Aurora {n % 3}|{ports[n % 4]}|{400 + 7 * n}" for n in range(count)]


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=40)
    parser.add_argument("--workers", type=int, default=2)
    return parser.parse_args()


def main():
    args = parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    with tempfile.TemporaryDirectory(prefix="manifests-") as base:
        install(base)
        import manifestlib

        log.info("driver runs manifestlib %s", manifestlib.__version__)
        address, processes = start(base, args.workers)
        try:
            with Client(scheduler_file=address, timeout=20) as client:
                client.wait_for_workers(args.workers, timeout=30)
                parsed = client.map(manifestlib.parse_line, make_lines(args.lines))
                people = sum(record["people"] for record in client.gather(parsed))
                log.info("%d passengers in %d manifests", people, len(parsed))
                time.sleep(5)  # the port authority allows one pass every five seconds
                resolved = client.map(manifestlib.resolve_port, parsed)
                for record in client.gather(resolved)[:4]:
                    log.info("%s", record)
        finally:
            stop(processes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
