"""Re-rates the motor policies that renew next month.

The rules are released as a folder per release (``releases/r41``, ``releases/r42``);
the rating grid is a scheduler and two workers started by the platform's launcher.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import dask.bag as db
from distributed import Client

RULES_41 = '''
"""Premium rules, release 41."""
RELEASE = 41


def load_factor(policy):
    return 1.0 + 0.02 * policy["claims"]
'''

RULES_42 = '''
"""Premium rules, release 42: regions."""
RELEASE = 42
REGIONS = {"N": 0.97, "S": 1.04, "W": 1.0}


def load_factor(policy, region="W"):
    return REGIONS[region] * (1.0 + 0.02 * policy["claims"])
'''


def install_releases(root):
    for release, text in (("r41", RULES_41), ("r42", RULES_42)):
        folder = root / "releases" / release
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "premium_rules.py").write_text(text)
    (root / "grid.json").write_text(
        json.dumps({"rules": "releases/r41", "workers": 2, "threads": 1})
    )
    (root / "job.json").write_text(
        json.dumps({"rules": "releases/r42", "month": "2027-01"})
    )


class Grid:
    def __init__(self, root):
        self.root = root
        self.settings = json.loads((root / "grid.json").read_text())
        self.file = root / "scheduler.json"
        self.processes = []

    def spawn(self, *arguments):
        environment = dict(
            os.environ, PYTHONPATH=str(self.root / self.settings["rules"])
        )
        command = [
            sys.executable,
            "-m",
            "dask",
            *arguments,
            "--scheduler-file",
            str(self.file),
        ]
        self.processes.append(
            subprocess.Popen(command, env=environment, cwd=self.root / "releases")
        )

    def start(self):
        self.spawn("scheduler", "--port", "0", "--host", "127.0.0.1", "--no-dashboard")
        for _ in range(self.settings["workers"]):
            self.spawn(
                "worker",
                "--nthreads",
                str(self.settings["threads"]),
                "--memory-limit",
                "400MB",
                "--no-dashboard",
            )
        deadline = time.time() + 30
        while not self.file.exists() and time.time() < deadline:
            time.sleep(0.2)
        return self

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            process.wait(15)


def policies(month):
    for number in range(4000):
        yield {
            "policy": f"M{number:06d}",
            "base": 280 + number % 90,
            "claims": number % 5,
            "region": "NSW"[number % 3],
            "month": month,
        }


def rate_policy(policy):
    import premium_rules

    factor = premium_rules.load_factor(policy, region=policy["region"])
    return {**policy, "premium": round(policy["base"] * factor, 2)}


def main():
    root = Path.cwd()
    install_releases(root)
    job = json.loads((root / "job.json").read_text())
    sys.path.insert(0, str(root / job["rules"]))
    import premium_rules

    print(f"re-rating {job['month']} with release {premium_rules.RELEASE}")
    sample = rate_policy(next(policies(job["month"])))
    print("sample", sample["policy"], sample["premium"])

    grid = Grid(root).start()
    try:
        with Client(scheduler_file=str(grid.file), timeout=20) as client:
            client.wait_for_workers(2, timeout=30)
            bag = db.from_sequence(policies(job["month"]), npartitions=8)
            rated = bag.map(rate_policy)
            total = rated.pluck("premium").sum().compute(retries=1)
            print(f"premiums of {job['month']}: {total:,.2f}")
    finally:
        grid.stop()


if __name__ == "__main__":
    main()
