import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

from distributed import Client, wait

HOUSEKEEPING = textwrap.dedent("""
    import os, psutil, signal, sys, time
    time.sleep(7)
    for p in psutil.process_iter(["pid", "cmdline"]):
        if sys.argv[1] in " ".join(p.info["cmdline"] or []) and "worker" in p.info["cmdline"] and p.pid != os.getpid():
            print("housekeeping: retiring long running process", p.pid, flush=True)
            os.kill(p.pid, signal.SIGTERM)
""")


def solve_depot(depot, stops):
    best = stops
    for _ in range(40):
        time.sleep(0.1)
        best -= 1
    return depot, best


def main():
    tmp = tempfile.mkdtemp(prefix="routes")
    sfile = f"{tmp}/scheduler.json"
    procs = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "dask",
                "scheduler",
                "--port",
                "0",
                "--scheduler-file",
                sfile,
                "--no-dashboard",
            ]
        )
    ]
    for i in range(2):
        procs.append(
            subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "dask",
                    "worker",
                    "--scheduler-file",
                    sfile,
                    "--nthreads",
                    "1",
                    "--no-nanny",
                    "--memory-limit",
                    "400MB",
                    "--no-dashboard",
                    "--name",
                    f"vrp-{i}",
                    "--local-directory",
                    tmp,
                ]
            )
        )
    script = Path(tmp, "housekeeping.py")
    script.write_text(HOUSEKEEPING)
    keeper = subprocess.Popen([sys.executable, str(script), sfile])
    try:
        with Client(scheduler_file=sfile, timeout=20) as client:
            client.wait_for_workers(2, timeout=20)
            futs = client.map(solve_depot, [f"D{i}" for i in range(12)], range(50, 62))
            wait(futs, timeout=25)
            for depot, best in client.gather(futs):
                print(depot, best)
    finally:
        keeper.wait()
        for p in procs:
            p.terminate()


if __name__ == "__main__":
    main()
