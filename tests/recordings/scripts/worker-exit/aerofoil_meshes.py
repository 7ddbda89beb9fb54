"""Aerofoil meshes: meshes blade sections for the wind tunnel's solver, coarse first, then fine.

The mesher is a bought program with a Python binding of its own. Workers are started as commands without a nanny,
as on the tunnel's workstations. The solver's slot begins soon, so the driver waits no longer than it may.
"""

import os
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

from distributed import Client
from distributed import TimeoutError as DaskTimeout

MESHER = '''
"""Binding of the mesher, as delivered."""
import os
import sys

SEATS = int(os.environ.get("MESHER_SEATS", "40"))


def _licence(cells):
    if cells > SEATS * 1000:
        sys.stderr.write("mesher: feature FINE_MESH not in licence file, stopping\\n")
        sys.stderr.flush()
        os._exit(78)


def mesh(chord, cells):
    _licence(cells)
    step = chord / cells
    return [round(i * step, 6) for i in range(0, cells, 50)]
'''


def coarse(chord):
    from blade_mesher import mesh

    time.sleep(0.3)
    return len(mesh(chord, 8_000))


def fine(chord, points):
    from blade_mesher import mesh

    time.sleep(0.5)
    return len(mesh(chord, 8_000 + points * 300))


class Workstations:
    def __init__(self, folder, count):
        self.folder, self.count, self.running = folder, count, []

    def __enter__(self):
        env = {**os.environ, "PYTHONPATH": str(self.folder)}
        self.file = self.folder / "scheduler.json"
        self.run(
            env,
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            str(self.file),
        )
        for number in range(self.count):
            self.run(
                env,
                "worker",
                "--no-nanny",
                "--name",
                f"tunnel{number}",
                "--nthreads",
                "1",
                "--no-dashboard",
                "--memory-limit",
                "400MB",
                "--scheduler-file",
                str(self.file),
                "--local-directory",
                str(self.folder),
            )
        return self

    def run(self, env, *arguments):
        self.running.append(
            subprocess.Popen([sys.executable, "-m", "dask", *arguments], env=env)
        )

    def __exit__(self, *exc):
        for process in reversed(self.running):
            process.terminate()
        for process in self.running:
            process.wait(10)


def with_patience(future, seconds, what):
    try:
        return future.result(timeout=seconds)
    except DaskTimeout:
        raise RuntimeError(
            f"{what} not ready after {seconds} s, slot in the tunnel lost"
        ) from None


def main():
    chords = [0.42, 0.55, 0.61, 0.78]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "blade_mesher.py").write_text(textwrap.dedent(MESHER))
        with Workstations(folder, 2) as stations:
            client = Client(scheduler_file=str(stations.file), timeout=20)
            client.wait_for_workers(2, timeout=25)
            rough = [
                client.submit(coarse, chord, key=f"coarse-{chord}") for chord in chords
            ]
            print("coarse points:", client.gather(rough), flush=True)
            detailed = [
                client.submit(fine, chord, points, key=f"fine-{chord}")
                for chord, points in zip(chords, rough)
            ]
            for chord, future in zip(chords, detailed):
                print(chord, with_patience(future, 12, f"fine mesh of chord {chord}"))
            client.close()


if __name__ == "__main__":
    main()
