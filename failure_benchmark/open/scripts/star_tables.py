"""Makes tables of stars; the machines of the cluster were set up last week."""

import os
import signal
import subprocess
import sys
import tempfile
import time

from dask.distributed import Client

DASK = os.path.join(os.path.dirname(sys.executable), "dask")
TABLE = '''
class Table:
    def __init__(self, rows):
        self.rows = rows
'''


def installed(version, module):
    """Return a folder with a version of the package, as pip would install it."""
    folder = tempfile.mkdtemp()
    package = os.path.join(folder, "starlib")
    os.mkdir(package)
    with open(os.path.join(package, "__init__.py"), "w") as file:
        file.write(f"__version__ = {version!r}\nfrom starlib.{module} import Table\n")
    with open(os.path.join(package, f"{module}.py"), "w") as file:
        file.write(TABLE)
    return folder


def stars(field):
    import starlib

    return starlib.Table([field * star % 19 for star in range(30)])


if __name__ == "__main__":
    sys.path.insert(0, installed("1.26.4", "core"))
    file = os.path.join(tempfile.mkdtemp(), "scheduler.json")
    env = {**os.environ, "PYTHONPATH": installed("2.1.0", "_core")}
    common = ["--scheduler-file", file]
    commands = [
        [DASK, "scheduler", "--port", "0", "--dashboard-address", ":0", *common]
    ]
    commands += [[DASK, "worker", "--nthreads", "1", "--no-dashboard", *common]] * 2
    started = [
        subprocess.Popen(each, env=env, start_new_session=True) for each in commands
    ]
    try:
        while not os.path.exists(file):
            time.sleep(0.1)
        with Client(scheduler_file=file) as client:
            client.wait_for_workers(2, timeout=40)
            tables = client.gather(client.map(stars, range(6)))
            print(sum(len(table.rows) for table in tables))
    finally:
        for process in started:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
