"""Duties on imported herbs: each declaration is priced with the tariff table of its day.

Workers load the tariff table once, when they start (customs_setup.py), so that tasks find it in memory.
"""

import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import textwrap
from contextlib import contextmanager

from distributed import Client

SETUP = textwrap.dedent(
    '''
    """Loaded by every worker at its start."""
    import json


    def load(day):
        with open("tariffs.json") as source:
            book = json.load(source)
        return book["days"][day]


    with open("customs.json") as source:
        settings = json.load(source)
    TARIFFS = load(settings["tariff_day"])
    '''
)


def write_files():
    pathlib.Path("customs_setup.py").write_text(SETUP)
    days = {
        f"2026-11-{d:02d}": {"parsley": 0.08, "dill": 0.06, "chervil": 0.11}
        for d in range(1, 28)
    }
    pathlib.Path("tariffs.json").write_text(json.dumps({"days": days}))
    pathlib.Path("customs.json").write_text(
        json.dumps({"tariff_day": "2026-11-28", "office": "Rotterdam"})
    )


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def spawn(label, *args):
    out = open(f"{label}.log", "w")
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *args], stdout=out, stderr=subprocess.STDOUT
    )


@contextmanager
def customs_cluster(workers):
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    processes = [
        spawn(
            "scheduler",
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--no-dashboard",
        )
    ]
    for n in range(workers):
        processes.append(
            spawn(
                f"worker{n}",
                "worker",
                address,
                "--nthreads",
                "1",
                "--memory-limit",
                "300MB",
                "--no-dashboard",
                "--name",
                f"customs-{n}",
                "--preload",
                "customs_setup.py",
                "--local-directory",
                tempfile.mkdtemp(),
            )
        )
    try:
        yield address
    finally:
        for process in reversed(processes):
            if process.poll() is None:
                process.terminate()
        for process in processes:
            try:
                process.wait(8)
            except subprocess.TimeoutExpired:
                process.kill()


def duty(declaration):
    import customs_setup

    rate = customs_setup.TARIFFS[declaration["herb"]]
    return declaration["value"] * rate


def total(parts):
    return round(sum(parts), 2)


def main():
    write_files()
    declarations = [
        {"number": n, "herb": ["parsley", "dill", "chervil"][n % 3], "value": 100.0 + n}
        for n in range(60)
    ]
    with customs_cluster(2) as address, Client(address, timeout=20) as client:
        duties = client.map(duty, declarations)
        client.wait_for_workers(2, timeout=15)
        print("duties of the day:", client.submit(total, duties).result(timeout=30))


if __name__ == "__main__":
    main()
