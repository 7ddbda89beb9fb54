"""Egg counts of the farms; unreadable reports go to quarantine, the rest is published."""

import json
import random
import tempfile
import time
from pathlib import Path

from dask.distributed import Client, LocalCluster, as_completed


def deliver(folder):
    random.seed(4)
    for farm in range(24):
        report = {
            "farm": farm,
            "hens": random.randint(200, 900),
            "eggs": random.randint(100, 800),
        }
        if farm == 9:
            report["hens"] = 0
        text = json.dumps(report)
        (folder / f"farm_{farm:02d}.json").write_text(text[:15] if farm == 16 else text)


def laying_rate(path):
    time.sleep(0.15)
    report = json.loads(Path(path).read_text())
    return report["farm"], report["eggs"] / report["hens"]


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        deliver(folder)
        quarantine = folder / "quarantine"
        quarantine.mkdir()
        rates = {}
        with LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="400MB",
            dashboard_address=":0",
        ) as cluster:
            with Client(cluster) as client:
                futures = {
                    client.submit(laying_rate, str(path)): path
                    for path in folder.glob("farm_*.json")
                }
                for future in as_completed(futures):
                    error = future.exception()
                    if error is not None:
                        print(f"quarantined {futures[future].name}: {error!r}")
                        futures[future].rename(quarantine / futures[future].name)
                        continue
                    farm, rate = future.result()
                    rates[farm] = rate
        print("farms:", len(rates), "quarantined:", len(list(quarantine.iterdir())))
        assert len(rates) == 22


if __name__ == "__main__":
    main()
