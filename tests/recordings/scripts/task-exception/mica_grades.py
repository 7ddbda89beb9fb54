"""Grades mica sheets; every worker's nanny prepares the scanner's colour profile before work starts."""

import os
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

from dask.distributed import Client

PREPARE = """
    import os
    from pathlib import Path

    def dask_setup(nanny):
        profile = Path(os.environ["MICA_PROFILE"])
        table = profile.read_bytes()
        nanny.env["MICA_WHITE"] = str(max(table))
"""


def start(folder, *command, **env):
    log = open(folder / f"{command[0]}.log", "ab")
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *command],
        cwd=folder,
        env={**os.environ, **env},
        stdout=log,
        stderr=log,
    )


def grade_sheet(sheet):
    time.sleep(0.1)
    white = int(os.environ["MICA_WHITE"])
    return sheet, "ruby" if sheet * 37 % white > 90 else "green"


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "prepare_profile.py").write_text(textwrap.dedent(PREPARE))
        (folder / "profiles").mkdir()
        (folder / "profiles" / "scanner_7.icc").write_bytes(bytes(range(256)))
        address = str(folder / "scheduler.json")
        processes = [
            start(
                folder,
                "scheduler",
                "--port",
                "0",
                "--dashboard-address",
                ":0",
                "--scheduler-file",
                address,
            )
        ]
        try:
            for _ in range(2):
                processes.append(
                    start(
                        folder,
                        "worker",
                        "--scheduler-file",
                        address,
                        "--nthreads",
                        "1",
                        "--memory-limit",
                        "400MB",
                        "--local-directory",
                        name,
                        "--preload-nanny",
                        str(folder / "prepare_profile.py"),
                        MICA_PROFILE=str(folder / "profiles" / "scanner_8.icc"),
                    )
                )
            with Client(scheduler_file=address, timeout=60) as client:
                client.wait_for_workers(2, timeout=90)
                grades = client.gather(client.map(grade_sheet, range(60)))
                print("ruby:", sum(grade == "ruby" for _, grade in grades))
        finally:
            for process in reversed(processes):
                process.terminate()
            for process in processes:
                process.wait(timeout=60)


if __name__ == "__main__":
    main()
