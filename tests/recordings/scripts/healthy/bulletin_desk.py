"""Bulletins of the weather desk.

Regional texts are written from the model's points. Stations that report nonsense
are expected every night; their regions get the text of the neighbour. The desk
runs its own scheduler and workers and stops them with signals, as its init
script does.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile

from distributed import Client, as_completed

REGIONS = [f"region-{i:02d}" for i in range(24)]


class BadStation(Exception):
    pass


def read_points(region):
    rng = random.Random(region)
    points = [round(rng.gauss(9, 5), 1) for _ in range(200)]
    if region in ("region-05", "region-17"):
        points[100] = 999.9
    return points


def write_text(region, points):
    if max(points) > 60:
        raise BadStation(f"{region}: {max(points)} degrees")
    mean = sum(points) / len(points)
    return f"{region}: around {mean:.0f} degrees, up to {max(points):.0f}"


def start(folder, *words, **options):
    log = open(os.path.join(folder, words[0] + options.get("suffix", "") + ".log"), "w")
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "dask",
            *words,
            "--no-dashboard",
            "--scheduler-file",
            os.path.join(folder, "desk.json"),
        ],
        stdout=log,
        stderr=subprocess.STDOUT,
    )


def stop(processes):
    """Workers first, then the scheduler; all must go within ten seconds."""
    for process in processes[1:]:
        process.send_signal(signal.SIGTERM)
    for process in processes[1:]:
        process.wait(10)
    processes[0].send_signal(signal.SIGINT)
    processes[0].wait(10)


def bulletins(client):
    futures = {}
    for region in REGIONS:
        points = client.submit(read_points, region)
        futures[client.submit(write_text, region, points)] = region
    texts, neighbours = {}, []
    for future in as_completed(futures):
        region = futures[future]
        try:
            texts[region] = future.result()
        except BadStation as bad:
            print("neighbour's text is used for", bad, flush=True)
            neighbours.append(region)
    for region in neighbours:
        number = REGIONS.index(region)
        texts[region] = texts[REGIONS[number - 1]]
    return texts


def main():
    with tempfile.TemporaryDirectory() as folder:
        processes = [start(folder, "scheduler", "--host", "127.0.0.1", "--port", "0")]
        for n in "12":
            processes.append(
                start(
                    folder,
                    "worker",
                    "--nthreads",
                    "1",
                    "--memory-limit",
                    "350MB",
                    "--name",
                    f"desk-{n}",
                    "--local-directory",
                    folder,
                    suffix=n,
                )
            )
        try:
            with Client(
                scheduler_file=os.path.join(folder, "desk.json"), timeout="20s"
            ) as client:
                client.wait_for_workers(2, timeout=20)
                texts = bulletins(client)
        finally:
            stop(processes)
    assert len(texts) == len(REGIONS)
    with open("bulletin.txt", "w") as out:
        out.write("\n".join(texts[r] for r in REGIONS))
    print(f"bulletin with {len(texts)} regions written")


if __name__ == "__main__":
    main()
