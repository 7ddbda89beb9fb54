"""A script of a user who has never heard of us, for `dask blackbox run`.

python user_script.py HOW
"""

from __future__ import annotations

import atexit
import json
import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import dask
from dask.distributed import Client, worker_client


def double(i: int) -> int:
    return 2 * i


def triple(i: int) -> int:
    return 3 * i


def die() -> None:
    os._exit(7)


def client() -> Client:
    return Client(n_workers=1, threads_per_worker=1, dashboard_address=":0")


def in_a_child() -> None:
    with client() as c:
        print("child", sum(c.gather(c.map(triple, range(4)))))


def no_client() -> None:
    os.write(1, b"bytes \xff that are no text\n")


def before_any_client() -> None:
    raise FileNotFoundError("before any client")


def under_another_hook() -> None:
    """Raise under a hook that calls none of those before it, as of Airflow's logging."""
    sys.excepthook = lambda kind, error, trace: print(kind.__name__, file=sys.stderr)
    raise LookupError("under another hook")


def before_its_child() -> None:
    """Raise, and have a child raise when we end."""
    code = "input(); raise RuntimeError('the child, later')"
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
    atexit.register(child.communicate, b"go on\n")
    raise ConnectionError("the parent, first")


def environment() -> None:
    site = sys.modules.get("sitecustomize")
    with client() as c:
        preloads = [os.path.basename(p.name) for p in c.preloads._preloads]  # noqa: PTH119
    reported = {
        "mark": getattr(site, "MARK", None),
        "path": sys.path,
        "PYTHONPATH": os.environ.get("PYTHONPATH"),
        "preloads": preloads,
        "preloaded": os.environ.get("PRELOADED"),
    }
    print(json.dumps(reported))


def children() -> None:
    child = multiprocessing.get_context("spawn").Process(target=in_a_child)
    child.start()
    child.join()
    subprocess.run([sys.executable, __file__, "in_a_child"], check=True)


def never_close() -> None:
    c = client()
    print("sum", sum(c.gather(c.map(double, range(20)))))


def wait() -> None:
    with client() as c:
        c.gather(c.map(double, range(3)))
        print("ready", flush=True)
        # In steps: a signal that comes as one sleep begins, while CPython hands its lock to
        # another thread, is only handled as that sleep ends.
        until = time.monotonic() + 600
        while time.monotonic() < until:
            time.sleep(0.1)


def fine(c: Client) -> None:
    print("fine", c.submit(double, 1).result())


def sum_on_the_cluster(n: int) -> int:
    logging.getLogger("job").warning("a task with a client of its own")
    with worker_client() as c:
        return int(sum(c.gather(c.map(triple, range(n)))))


def nest(c: Client) -> None:
    print("nested", c.submit(sum_on_the_cluster, 4).result())


def exit_5(c: Client) -> None:
    sys.exit(5)


def give_up(c: Client) -> None:
    sys.exit("no input files for today")


def import_much() -> None:
    """Import so much code of one's own that the recorder learns of it at length."""
    folder = Path(os.environ["TMPDIR"]) / "own"
    folder.mkdir()
    sys.path.insert(0, str(folder))
    for name in ("sales_a", "sales_b", "sales_c"):
        text = "".join(f"def step_{n:04}(x):\n    return x + {n}\n" for n in range(450))
        (folder / f"{name}.py").write_text(text)
        __import__(name)


def fail(c: Client) -> None:
    raise KeyError("after the work")


def kill_a_worker(c: Client) -> None:
    c.submit(die, pure=False).result()


def lose_the_recorder(c: Client) -> None:
    """Go on when the recorder that our parent has started has died."""
    # Not above: a Python that ignores its environment does not find it.
    from scenario_reports import recorders, until

    [recorder] = recorders(os.getppid())
    spool = Path(os.environ["TMPDIR"])
    # What it has received and not written is lost with it, and counted.
    until(lambda: _has_line(spool, "sum "), "the first line in the spool")
    os.kill(recorder, signal.SIGKILL)
    print("tripled", sum(c.gather(c.map(triple, range(4)))))
    until(lambda: _pulled_by_another(spool, recorder), "another recorder's rows")


def _has_line(folder: Path, begin: str) -> bool:
    """Return whether the spool has a line of the driver's that begins so."""
    from dask_blackbox.segments import read_segment

    return any(
        row[7].startswith(begin)
        for each in folder.glob("dask-blackbox-*/spool/*/segments/*.seg")
        for frame in read_segment(each.read_bytes()).frames
        for row in frame.rows.get("log", ())
        if row[1] == "driver"
    )


def _pulled_by_another(folder: Path, recorder: int) -> bool:
    """Return whether another recorder has rows of a scheduler in the spool."""
    from dask_blackbox.segments import read_segment

    others = (
        each
        for each in folder.glob("dask-blackbox-*/spool/*/segments/*.seg")
        if not each.name.startswith(f"{recorder:x}-")
    )
    return any(
        frame.source.startswith("scheduler ")
        for each in others
        for frame in read_segment(each.read_bytes()).frames
    )


def kill_itself(c: Client) -> None:
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGKILL)


def main(how: str) -> None:
    alone = [
        no_client, before_any_client, under_another_hook, before_its_child, environment, children,
        in_a_child, never_close, wait,
    ]  # fmt: skip
    for act in alone:
        if act.__name__ == how:
            act()
            return
    dask.config.set({"distributed.scheduler.allowed-failures": 0})
    if how == "fail":
        import_much()
    with client() as c:
        print("sum", sum(c.gather(c.map(double, range(20)))))
        for end in (
            fine, nest, exit_5, give_up, fail, kill_a_worker, lose_the_recorder,
            kill_itself,
        ):  # fmt: skip
            if end.__name__ == how:
                end(c)


if __name__ == "__main__":
    main(sys.argv[1])
