"""Parking meter revenue. The rate rules live beside the job in a small package."""

import os
import subprocess
import sys
import socket
import tempfile
import textwrap

from dask.distributed import Client


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def main():
    with tempfile.TemporaryDirectory() as folder:
        rules = os.path.join(folder, "job")
        elsewhere = os.path.join(folder, "run")
        os.makedirs(rules)
        os.makedirs(elsewhere)
        with open(os.path.join(rules, "meter_rates.py"), "w") as f:
            f.write(
                textwrap.dedent("""
                def revenue(meter, minutes):
                    return meter, round(minutes * (0.04 if meter % 2 else 0.06), 2)
            """)
            )
        port = free_port()
        procs = [
            subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "dask",
                    "scheduler",
                    "--host",
                    "127.0.0.1",
                    "--port",
                    str(port),
                    "--no-dashboard",
                ],
                cwd=elsewhere,
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
                        f"tcp://127.0.0.1:{port}",
                        "--nthreads",
                        "1",
                        "--no-nanny",
                        "--no-dashboard",
                        "--name",
                        f"meter-{i}",
                        "--local-directory",
                        folder,
                    ],
                    cwd=elsewhere,
                )
            )
        try:
            sys.path.insert(0, rules)
            import meter_rates

            with Client(f"tcp://127.0.0.1:{port}", timeout=20) as client:
                client.wait_for_workers(2, timeout=20)
                futures = client.map(
                    meter_rates.revenue, range(60), [m * 7 for m in range(60)]
                )
                print(sum(r for _, r in client.gather(futures)))
        finally:
            for p in reversed(procs):
                p.terminate()
                try:
                    p.wait(10)
                except subprocess.TimeoutExpired:
                    p.kill()
                    p.wait(5)


if __name__ == "__main__":
    main()
