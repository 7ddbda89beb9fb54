"""Raindrop spectra of the gauges: waits for the upper-air file of the weather office, then corrects all gauges with it.

The office's file is due some time after the job starts; the tasks wait for it where they run.
"""

import json
import random
import threading
import time
from pathlib import Path

from distributed import Client, Event, LocalCluster, Variable, progress  # noqa: F401


def spectrum(gauge):
    rng = random.Random(gauge)
    return {"gauge": gauge, "bins": [rng.randint(0, 90) for _ in range(32)]}


def corrected(record, patience):
    """Wind correction; needs the file of the weather office."""
    if not Event("upper-air-arrived").wait(timeout=patience):
        raise RuntimeError("upper-air file did not come")
    wind = Variable("upper-air").get(timeout=5)["wind"]
    return {**record, "bins": [round(n * (1 + 0.02 * wind), 2) for n in record["bins"]]}


def rate(record):
    return record["gauge"], round(
        sum(i**3 * n for i, n in enumerate(record["bins"])) * 1e-4, 2
    )


def weather_office(path, after):
    """Stand-in for the office's delivery."""
    time.sleep(after)
    temporary = path.with_suffix(".part")
    temporary.write_text(json.dumps({"wind": 7.5, "level": 850}))
    temporary.rename(path)


def main():
    path = Path("upper_air.json")
    threading.Thread(target=weather_office, args=(path, 18), daemon=True).start()
    with LocalCluster(
        n_workers=2, threads_per_worker=2, memory_limit="300MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            arrived, content = Event("upper-air-arrived"), Variable("upper-air")
            records = client.map(spectrum, [f"gauge-{n:03d}" for n in range(16)])
            rates = client.map(rate, client.map(corrected, records, patience=60))
            waited = 0.0
            while not path.exists():
                time.sleep(0.5)
                waited += 0.5
                if waited % 5 == 0:
                    print(f"waiting for {path}, {waited:.0f} s", flush=True)
            content.set(json.loads(path.read_text()))
            arrived.set()
            table = dict(client.gather(rates))
    for gauge, millimetres in sorted(table.items()):
        print(gauge, millimetres)
    print(f"{len(table)} gauges corrected after {waited:.0f} s")


if __name__ == "__main__":
    main()
