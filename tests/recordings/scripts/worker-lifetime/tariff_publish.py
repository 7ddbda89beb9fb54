import subprocess
import sys
import tempfile
import time

from distributed import Client, TimeoutError


def reprice(zone):
    time.sleep(2.5)
    return zone, 0.21 + zone / 1000


def start(tmp):
    sf = tmp + "/s.json"
    yield subprocess.Popen(
        [
            sys.executable,
            "-m",
            "dask",
            "scheduler",
            "--scheduler-file",
            sf,
            "--port",
            "0",
            "--no-dashboard",
        ]
    )
    for name in ("tariff-a", "tariff-b"):
        yield subprocess.Popen(
            [
                sys.executable,
                "-m",
                "dask",
                "worker",
                "--scheduler-file",
                sf,
                "--name",
                name,
                "--nthreads",
                "1",
                "--memory-limit",
                "300MB",
                "--no-dashboard",
                "--local-directory",
                tmp,
                "--lifetime",
                "8 seconds",
            ]
        )


def main():
    tmp = tempfile.mkdtemp(prefix="tariff")
    procs = list(start(tmp))
    client = Client(scheduler_file=tmp + "/s.json", timeout=20)
    client.wait_for_workers(2, timeout=20)
    futures = client.map(reprice, range(16))
    try:
        table = client.submit(dict, futures).result(timeout=30)
        print("published", len(table))
    except TimeoutError:
        done = sum(f.status == "finished" for f in futures)
        print(
            f"tariff table incomplete, {done} of {len(futures)} zones", file=sys.stderr
        )
        sys.exit(3)
    finally:
        client.close()
        for p in procs:
            p.terminate()


if __name__ == "__main__":
    main()
