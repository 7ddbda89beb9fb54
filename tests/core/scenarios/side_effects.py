"""What driver and tasks do beside Dask, and what fails of it later.

python side_effects.py HOW FOLDER
"""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from dask.distributed import Client


def load(path: str) -> str:
    return Path(path).read_text()


def refuse(order: str) -> None:
    raise LookupError(f"no price for {order}")


def remove(file: Path) -> None:
    file.unlink()


def client() -> Client:
    return Client(n_workers=1, threads_per_worker=1, dashboard_address=":0")


def ignored_program(folder: str) -> None:
    """Ignore that the program that was to write a file has failed."""
    file = f"{folder}/books.csv"
    code = "import sys; print('no licence left', file=sys.stderr); sys.exit(3)"
    subprocess.run([sys.executable, "-c", code, file], capture_output=True, check=False)
    with client() as c:
        c.submit(load, file).result()


def removed_file(folder: str) -> None:
    """Have a thread remove a file that a task reads later."""
    file = Path(folder, "trades.csv")
    file.write_text("1")
    with client() as c:
        assert c.submit(load, str(file)).result() == "1"
        thread = threading.Thread(target=remove, args=(file,))
        thread.start()
        thread.join()
        c.submit(load, str(file), pure=False).result()


def purge(path: str) -> str:
    Path(path).unlink()
    return path


def removing_task(folder: str) -> None:
    """Have a task remove a file that another one reads later."""
    file = Path(folder, "trades.csv")
    file.write_text("1")
    with client() as c:
        c.submit(load, c.submit(purge, str(file))).result()


def convert(raw: str, file: str) -> str:
    code = "import sys; sys.exit(3)"
    subprocess.run([sys.executable, "-c", code, raw], check=False)
    return file


def program_of_a_task(folder: str) -> None:
    """Have a task ignore that the program that was to write a file has failed."""
    with client() as c:
        made = c.submit(convert, f"{folder}/books.raw", f"{folder}/books.csv")
        c.submit(load, made).result()


def ask(port: int) -> None:
    socket.create_connection(("127.0.0.1", port), timeout=5).close()


def ended_service(folder: str) -> None:
    """Have tasks ask a service of the driver's that has ended silently."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    code = "import sys; sys.exit(3)"
    service = subprocess.Popen([sys.executable, "-c", code, folder])
    with client() as c:
        try:
            c.submit(ask, port).result()
        finally:
            service.terminate()


def clean_up_first(folder: str) -> None:
    """Remove old output that is not there, and then miss what was not written again."""
    file = Path(folder, "trades.csv")
    file.unlink(missing_ok=True)
    with client() as c:
        c.submit(load, str(file)).result()


def file_of_yesterday(folder: str) -> None:
    """Read a file that was not delivered before the run began."""
    delivered = Path(folder, "delivered")
    delivered.mkdir()
    yesterday = time.time() - 86_400
    os.utime(delivered, (yesterday, yesterday))
    with client() as c:
        c.submit(load, str(delivered / "trades.csv")).result()


def exits(folder: str) -> None:
    """Raise `SystemExit` because of a task's error, through the client's `with`."""
    os.system(f"test -d {folder}")
    with client() as c:
        try:
            c.submit(refuse, "A7").result()
        except LookupError:
            raise SystemExit(4)  # noqa: B904 - as people write it


def counts(folder: str) -> None:
    """Report how many failed, and exit."""
    os.system(f"test -d {folder}")
    failed = 0
    with client() as c:
        for order in ("A7", "A8"):
            try:
                c.submit(refuse, order).result()
            except LookupError:
                failed += 1
    print(f"{failed} order(s) failed")
    sys.exit(1)


def prints_last(folder: str) -> None:
    """Print as the process exits, after Dask has closed the cluster that was left open."""
    atexit.register(print, "printed last, of", folder)
    c = client()
    assert c.submit(len, "abc").result() == 3


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2])
