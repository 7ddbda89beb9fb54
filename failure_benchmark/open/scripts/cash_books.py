"""Balances cash books; machines of the cluster were set up last year."""

import os
import signal
import subprocess
import sys
import tempfile
import time

from dask.distributed import Client

DASK = os.path.join(os.path.dirname(sys.executable), "dask")
OLD = '''
__version__ = "1.4.0"

class Entry:
    def __init__(self, cents):
        self.cents = cents
'''
NEW = '''
__version__ = "2.0.0"

class Entry:
    def __init__(self, cents):
        self.cents = cents
    def __reduce__(self):
        return _restored, (self.cents,)

def _restored(cents):
    return Entry(cents)
'''


def installed(text):
    folder = tempfile.mkdtemp()
    with open(os.path.join(folder, "cashbook.py"), "w") as file:
        file.write(text)
    return folder


def balance(entries):
    return sum(entry.cents for entry in entries)


if __name__ == "__main__":
    sys.path.insert(0, installed(NEW))
    import cashbook

    file = os.path.join(tempfile.mkdtemp(), "scheduler.json")
    env = {**os.environ, "PYTHONPATH": installed(OLD)}
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
            books = [[cashbook.Entry(n * 5) for n in range(9)] for _ in range(4)]
            print(client.gather(client.map(balance, books)))
    finally:
        for process in started:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
