"""Upload a module to workers that lack what it imports."""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

from dask.distributed import Client

HERE = pathlib.Path(tempfile.mkdtemp())
(HERE / "lib").mkdir()
(HERE / "lib" / "unitstable.py").write_text("FACTORS = {'km': 1000, 'm': 1}\n")
(HERE / "convertlib.py").write_text(
    "import unitstable\n\ndef metres(x, unit):\n    return x * unitstable.FACTORS[unit]\n"
)


def main():
    file = HERE / "scheduler.json"
    started = [
        subprocess.Popen(
            [
                "dask",
                "scheduler",
                "--port",
                "0",
                "--no-dashboard",
                "--scheduler-file",
                file,
            ]
        )
    ]
    try:
        while not file.exists():
            time.sleep(0.1)
        started.append(
            subprocess.Popen(
                [
                    "dask",
                    "worker",
                    "--nthreads",
                    "1",
                    "--no-dashboard",
                    "--scheduler-file",
                    file,
                ],
                cwd="/",
                env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
            )
        )
        sys.path.insert(0, str(HERE / "lib"))
        with Client(scheduler_file=str(file)) as client:
            client.wait_for_workers(1, timeout=60)
            client.upload_file(str(HERE / "convertlib.py"), load=False)
            sys.path.insert(0, str(HERE))
            import convertlib

            print(client.gather(client.map(convertlib.metres, range(5), unit="km")))
    finally:
        for each in reversed(started):
            each.terminate()
        for each in started:
            each.wait()


if __name__ == "__main__":
    main()
