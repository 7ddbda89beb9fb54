"""Validate the applications for canal permits.

Applications with mistakes are the normal case: they are listed for a letter to
the applicant. The validation service consists of a scheduler and two workers of
its own, which are stopped at the end.
"""

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from distributed import Client, as_completed


class RejectedApplication(Exception):
    def __init__(self, number, reason):
        super().__init__(number, reason)
        self.number = number
        self.reason = reason


def applications():
    for n in range(40):
        yield {
            "number": 7000 + n,
            "length_m": 8 + n * 0.9,
            "beam_m": 2.1 + (n % 9) * 0.4,
            "insured": n % 11 != 5,
            "owner": "" if n == 17 else f"owner {n}",
        }


def check_size(app):
    if app["length_m"] > 38.5:
        raise RejectedApplication(app["number"], "longer than the locks")
    if app["beam_m"] > 5.05:
        raise RejectedApplication(app["number"], "wider than the locks")
    return app


def check_papers(app):
    if not app["insured"]:
        raise RejectedApplication(app["number"], "no insurance")
    if not app["owner"]:
        raise RejectedApplication(app["number"], "no owner")
    return app


def fee(app):
    return app["number"], round(app["length_m"] * app["beam_m"] * 3.2, 2)


class Service:
    def __init__(self, folder):
        self.file = Path(folder) / "scheduler.json"
        self.processes = {}

    def _dask(self, name, *args):
        self.processes[name] = subprocess.Popen([sys.executable, "-m", "dask", *args])

    def __enter__(self):
        self._dask(
            "scheduler",
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            str(self.file),
        )
        for i in (1, 2):
            self._dask(
                f"worker-{i}",
                "worker",
                "--scheduler-file",
                str(self.file),
                "--no-nanny",
                "--no-dashboard",
                "--nthreads",
                "1",
                "--memory-limit",
                "300MB",
                "--name",
                f"desk-{i}",
            )
        return self

    def __exit__(self, *exc):
        for name, sig in (
            ("worker-1", signal.SIGTERM),
            ("worker-2", signal.SIGINT),
            ("scheduler", signal.SIGTERM),
        ):
            process = self.processes[name]
            process.send_signal(sig)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def main():
    permits, letters = {}, []
    with tempfile.TemporaryDirectory() as folder, Service(folder) as service:
        with Client(scheduler_file=str(service.file), timeout=20) as client:
            client.wait_for_workers(2, timeout=20)
            sized = client.map(check_size, list(applications()))
            checked = client.map(check_papers, sized)
            for future in as_completed(client.map(fee, checked)):
                try:
                    number, amount = future.result()
                    permits[number] = amount
                except RejectedApplication as exc:
                    letters.append((exc.number, exc.reason))
    for number, reason in sorted(letters):
        print(f"letter to {number}: {reason}")
    print(f"{len(permits)} permits, fees {sum(permits.values()):.2f}")
    return 0 if len(permits) + len(letters) == 40 else 1


if __name__ == "__main__":
    sys.exit(main())
