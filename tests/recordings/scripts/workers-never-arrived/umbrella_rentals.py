"""Nightly settlement of the umbrella rental stands.

Brings up its own small cluster from the command line tools: workers first
(they take the longest to boot), then the price cache, then the scheduler.
"""

import argparse
import logging
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from distributed import Client

log = logging.getLogger("umbrella_rentals")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def dask_command(*words):
    return [sys.executable, "-m", "dask", *[str(word) for word in words]]


def start_workers(count, port, folder):
    """Boot the workers; they dial the scheduler on their own."""
    processes = []
    for number in range(count):
        command = dask_command(
            "worker",
            f"tcp://127.0.0.1:{port}",
            "--name",
            f"stand-{number}",
            "--nthreads",
            1,
            "--no-nanny",
            "--no-dashboard",
            "--memory-limit",
            "300MB",
            "--death-timeout",
            "4s",
            "--local-directory",
            folder,
        )
        output = open(Path(folder) / f"stand-{number}.out", "w")
        processes.append(subprocess.Popen(command, stdout=output, stderr=output))
        output.close()
    return processes


def start_scheduler(port):
    return subprocess.Popen(
        dask_command(
            "scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard"
        )
    )


def wait_until_booted(folder, count, patience=40):
    """A worker has booted when it has printed where it listens."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        texts = [path.read_text() for path in Path(folder).glob("stand-*.out")]
        if sum("Listening to" in text for text in texts) == count:
            return
        time.sleep(0.5)
    log.warning("not all of the %d workers have booted", count)


def fill_price_cache(days):
    """Price per stand and hour; slow because the old tariff server is slow."""
    rng = np.random.default_rng(5)
    cache = []
    for _ in range(days):
        cache.append(rng.gamma(2.0, 0.8, size=(24, 40)))
        time.sleep(0.5)
    return np.stack(cache)


def settle_day(prices, day):
    rng = np.random.default_rng(day)
    rentals = rng.poisson(1.5, size=prices.shape)
    return float((rentals * prices).sum())


def stop(processes):
    for process in processes:
        if process.poll() is None:
            process.terminate()
    for process in processes:
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def show_worker_logs(folder):
    for path in sorted(Path(folder).glob("stand-*.out")):
        for line in path.read_text().splitlines()[-12:]:
            log.info("%s | %s", path.stem, line)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--days", type=int, default=28)
    args = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")

    port = free_port()
    with tempfile.TemporaryDirectory(
        prefix="umbrella-", ignore_cleanup_errors=True
    ) as folder:
        processes = start_workers(args.workers, port, folder)
        try:
            wait_until_booted(folder, args.workers)
            prices = fill_price_cache(args.days)
            log.info("price cache of %d days is warm", len(prices))
            processes.append(start_scheduler(port))
            with Client(f"tcp://127.0.0.1:{port}", timeout=40) as client:
                client.wait_for_workers(args.workers, timeout=15)
                days = client.map(settle_day, list(prices), range(args.days))
                log.info("settled %.2f", sum(client.gather(days)))
        finally:
            stop(processes)
            show_worker_logs(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
