"""Gibbon calls: who sings when, from the recorders in the reserve.

Spectrograms are made on any worker; recognising the singers goes to the
workers with an accelerator, one recording at a time.
"""

import os
import subprocess
import sys
import time

import click
import numpy as np
from distributed import Client, LocalCluster, as_completed

FLEET = """
# name      threads  memory  extra
edge-1      1        300MB
edge-2      1        300MB
accel-1     1        400MB   gpu=1
"""


def start_fleet(address, text):
    """One `dask worker` per line of the fleet file."""
    procs = []
    for line in text.strip().splitlines():
        if line.startswith("#"):
            continue
        name, threads, memory, *extra = line.split()
        command = [
            sys.executable,
            "-m",
            "distributed.cli.dask_worker",
            address,
            "--name",
            name,
            "--nthreads",
            threads,
            "--memory-limit",
            memory,
            "--no-dashboard",
        ]
        if extra:
            command += ["--resources", extra[0]]
        procs.append(subprocess.Popen(command))
    return procs


def stop_fleet(procs):
    for proc in procs:
        proc.terminate()
    for proc in procs:
        try:
            proc.wait(8)
        except subprocess.TimeoutExpired:
            proc.kill()


def spectrogram(recorder, minutes):
    rng = np.random.default_rng(recorder)
    signal = rng.normal(size=(minutes * 60, 256))
    return np.abs(np.fft.rfft(signal, axis=1)).astype("f4")


def loudness(spectrum):
    return float(spectrum.mean())


def recognise_singers(spectrum, bands):
    edges = np.array_split(np.arange(spectrum.shape[1]), bands)
    energy = np.stack([spectrum[:, e].sum(axis=1) for e in edges])
    return np.bincount(energy.argmax(axis=0), minlength=bands).tolist()


@click.command()
@click.option("--recorders", default=12, show_default=True)
@click.option("--bands", default=5, show_default=True)
@click.option(
    "--patience", default=14.0, show_default=True, help="Seconds for the recognition."
)
def main(recorders, bands, patience):
    started = time.monotonic()
    with (
        LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        fleet = start_fleet(cluster.scheduler_address, FLEET)
        try:
            client.wait_for_workers(len(fleet), timeout=25)
            click.echo(f"{len(fleet)} workers after {time.monotonic() - started:.1f} s")

            spectra = client.map(spectrogram, range(recorders), minutes=20)
            loud = client.gather(client.map(loudness, spectra))
            click.echo(f"loudest recorder: {int(np.argmax(loud))} ({max(loud):.3f})")

            singers = client.map(
                recognise_singers, spectra, bands=bands, resources={"GPU": 1}
            )
            order = {future.key: n for n, future in enumerate(singers)}
            table = {}
            for future, counts in as_completed(
                singers, with_results=True, timeout=patience
            ):
                table[order[future.key]] = counts
                click.echo(f"recorder {order[future.key]} recognised")
            with open("singers.csv", "w") as out:
                for recorder in sorted(table):
                    out.write(",".join(map(str, [recorder, *table[recorder]])) + "\n")
        finally:
            stop_fleet(fleet)
            if os.path.exists("singers.csv"):
                click.echo("singers.csv written")


if __name__ == "__main__":
    main()
