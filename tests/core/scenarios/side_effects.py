"""What driver and tasks do beside Dask, and what fails of it later.

python side_effects.py HOW FOLDER
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import multiprocessing
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from multiprocessing import shared_memory
from pathlib import Path
from typing import Any

import dask
from dask.distributed import Client, Future, LocalCluster, wait
from scenario_reports import scaled

log = logging.getLogger("orders")


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


def unpack(folder: str) -> int:
    scratch = Path(folder, "scratch")
    scratch.mkdir()
    os.chdir(scratch)
    shutil.rmtree(scratch)
    return 1


def moving_task(folder: str) -> None:
    """Have a task change the working directory of its worker to one that it removes."""
    os.chdir(folder)
    Path("rates.csv").write_text("1")
    with client() as c:
        assert c.submit(load, "rates.csv").result() == "1"
        c.submit(unpack, folder).result()
        c.submit(load, "rates.csv", pure=False).result()


def price(order: str) -> object:
    import tariffs  # type: ignore[import-not-found]

    return tariffs.price(order, rush=True)


def write_tariffs(folder: str) -> None:
    """Write two versions of a module."""
    for name, arguments in (("old", "order"), ("new", "order, rush=False")):
        Path(folder, name).mkdir()
        Path(folder, name, "tariffs.py").write_text(
            f"def price({arguments}):\n    return 1\n\n"
            f"class Tariff:\n    def {name}_price(self):\n        return 1\n"
        )


def find_modules_in(folder: str) -> None:
    sys.path.insert(0, folder)


def was_compared(dask_scheduler: Any) -> bool:
    """Return whether another worker has been asked for a module of a failed task."""
    (capture,) = (
        p for p in dask_scheduler.plugins.values() if hasattr(p, "_inventory")
    )
    inventory = capture._inventory
    return bool(inventory._compared) and not inventory._asking


def module_of_one_worker(folder: str) -> None:
    """Have one of two workers import an older file of the job's, which the driver has not."""
    write_tariffs(folder)
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as c:
        new, old = c.scheduler_info(n_workers=-1)["workers"]
        c.run(find_modules_in, f"{folder}/new", workers=[new])
        c.run(find_modules_in, f"{folder}/old", workers=[old])
        orders = [f"A{n}" for n in range(3)]
        assert c.gather(c.map(price, orders, workers=[new])) == [1, 1, 1]
        wait(c.map(price, ["B1", "B2"], workers=[old]))
        while not c.run_on_scheduler(was_compared):
            assert c.submit(price, time.time(), workers=[new]).result() == 1
        c.submit(price, "B3", workers=[old]).result()


def another_module(folder: str) -> None:
    """Have workers import an older file of the job's than the driver has."""
    write_tariffs(folder)
    sys.path.insert(0, f"{folder}/new")
    assert price("A7") == 1
    sys.path[0] = f"{folder}/old"  # of the workers
    with client() as c:
        c.submit(price, "A7").result()


def another_class(folder: str) -> None:
    """Have workers read an object whose class is older than the driver's."""
    write_tariffs(folder)
    sys.path.insert(0, f"{folder}/new")
    import tariffs

    tariff = tariffs.Tariff()
    sys.path[0] = f"{folder}/old"  # of the workers
    with client() as c:
        c.submit(current_price, tariff).result()


def current_price(tariff: Any) -> object:
    return tariff.new_price()


def hidden_module(folder: str) -> None:
    """Send the workers a helper that has the name of a module of Python's."""
    helper = Path(folder, "statistics.py")
    helper.write_text("def weighted(values):\n    return sum(values)\n")
    with client() as c:
        c.upload_file(str(helper))
        c.submit(middle, [3, 1, 2]).result()


def middle(values: list[int]) -> float:
    from statistics import median

    return median(values)


def unprintable(folder: str) -> None:
    """Raise an exception whose text cannot be made, because of another one."""
    assert folder
    with client() as c:
        c.submit(cancel_order, "A7").result()


class OrderError(Exception):
    def __str__(self) -> str:
        return f"order {self.args[3]}"


def cancel_order(order: str) -> None:
    try:
        dict[str, int]()[order]
    except KeyError:
        raise OrderError(order)  # noqa: B904 - as people write it


def closes_client(folder: str) -> None:
    """Close a client while its futures are still needed."""
    assert folder
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0")
    c = Client(cluster)
    futures = c.map(time.sleep, [2, 2])
    try:
        refuse("A7")
    except LookupError as error:
        print(f"the check failed: {error!r}")
        c.close()
    c.gather(futures)


def again(folder: str) -> None:
    """Try a batch once more, whose first tasks have left their folders."""
    with client() as c:
        for attempt in (1, 2):
            try:
                c.gather(c.map(export, [folder] * 3, [2, 1, 0], pure=False))
            except Exception:
                if attempt == 2:
                    raise


def export(folder: str, number: int) -> float:
    Path(folder, f"shelf-{number}").mkdir()
    return 1 / number


def uses_up(folder: str) -> None:
    """Swallow that files are limited, and fail on what is in them."""
    with client() as c:
        c.submit(write, f"{folder}/strip").result()
        c.submit(read_strip, f"{folder}/strip").result()


def write(file: str) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, limits[1]))
    try:
        Path(file).write_bytes(b"1" * 5_000)
    except OSError as error:
        print(f"strip is incomplete: {error}", flush=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def read_strip(file: str) -> None:
    rows, size = 50, len(Path(file).read_bytes())
    if size != 100 * rows:
        raise ValueError(f"cannot reshape array of size {size} into shape (50,100)")


def be_quick(folder: str) -> None:
    socket.setdefaulttimeout(0.5)


def listen_to(port: int) -> bytes:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        return connection.recv(1)


def changed_timeout(folder: str) -> None:
    """Have a task change the timeout of its process, and another one meet it."""
    with client() as c, socket.create_server(("127.0.0.1", 0)) as silent:
        c.submit(be_quick, folder).result()
        c.submit(listen_to, silent.getsockname()[1]).result()


def look_at(name: str) -> int:
    return shared_memory.SharedMemory(name=name).size


def shared_block(folder: str) -> None:
    """Have a program attach to shared memory, which is removed as the program ends."""
    block = shared_memory.SharedMemory(create=True, size=100)
    code = "import sys; from multiprocessing.shared_memory import *; SharedMemory(sys.argv[1])"
    subprocess.run([sys.executable, "-c", code, block.name], check=True)
    with client() as c:
        c.submit(look_at, block.name).result()


async def feed(orders: asyncio.Queue[str]) -> None:
    await orders.put(sys.argv[3])  # there are two


async def wait_for_orders() -> None:
    orders = asyncio.Queue[str]()
    async with Client(processes=False, dashboard_address=":0", asynchronous=True) as c:
        await c.submit(len, "abc")
        task = asyncio.create_task(feed(orders), name="feed")
        await asyncio.wait_for(orders.get(), 1)
        task.cancel()


def lost_asyncio_task(folder: str) -> None:
    """Wait for what an asyncio task of the driver was to deliver, which has failed."""
    asyncio.run(wait_for_orders())


def locked(folder: str) -> None:
    """Ignore that a program has failed, and meet the lock that it held."""
    lock = Path(folder, "store.lock")
    program = Path(folder, "compact.py")
    program.write_text(
        "import sys\nopen(sys.argv[1], 'w').close()\nraise MemoryError('index is too large')\n"
    )
    subprocess.run([sys.executable, str(program), str(lock)], check=False)
    with client() as c:
        c.submit(append_to, str(lock)).result()


def append_to(lock: str) -> None:
    if Path(lock).exists():
        raise RuntimeError(f"{lock} is held, nothing stored")


def closed_cluster(folder: str) -> None:
    """Ask for the scheduler of a cluster that an earlier stage has closed."""
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as one:
        with Client(one) as c:
            assert c.submit(len, "abc").result() == 3
        address = one.scheduler_address
    Client(address, timeout="3s")


def toll_of(day: str) -> dict[str, str]:
    return {"day": day}


def check(month: str, tolls: list[dict[str, str]]) -> None:
    if any(month not in each["day"] for each in tolls):
        raise LookupError(f"bills of another month than {month}")


def reused_keys(folder: str) -> None:
    """Give the tasks of two months the same keys."""
    with client() as c:
        futures = {
            month: [c.submit(toll_of, f"{month}-{n}", key=f"toll-{n}") for n in (1, 2)]
            for month in ("september", "october")
        }
        for month, of_month in futures.items():
            check(month, c.gather(of_month))


def give_up(limit: float) -> None:
    solver = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(99)"])
    try:
        solver.wait(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(os.getpgid(solver.pid), signal.SIGTERM)
        solver.wait()


def signalled_group(folder: str) -> None:
    """Have a task end a program together with the process group that it shares with all."""
    os.setpgid(0, 0)
    with client() as c:
        assert c.submit(len, "abc").result() == 3
        c.submit(give_up, 0.5).result()


def end_worker(signal_name: str) -> None:
    os.kill(os.getpid(), getattr(signal, signal_name))


def signals_itself(folder: str) -> None:
    """Have a task end the process of its worker, as often as Dask starts one."""
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}), client() as c:
        c.submit(end_worker, "SIGKILL").result()


def report(c: Client, file: str) -> None:
    Path(file).write_text(str(c.gather(c.map(len, ["abc", "de"]))))


def forked_client(folder: str) -> None:
    """Fork a process that uses the driver's client, and give up waiting for it."""
    with client() as c:
        assert c.submit(len, "abc").result() == 3
        child = multiprocessing.get_context("fork").Process(
            target=report, args=(c, f"{folder}/report"), daemon=True
        )
        child.start()
        child.join(9)
        if child.is_alive():
            child.kill()
            raise LookupError("no report")


def interrupts_itself(folder: str) -> None:
    """Have a thread of the driver interrupt it while it waits for a task."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with client() as c:
        assert c.submit(len, "abc").result() == 3
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        c.submit(time.sleep, 60).result()


def stop_driver(future: Future[object]) -> None:
    if future.status == "error":
        os.kill(os.getpid(), signal.SIGTERM)


def stops_from_a_callback(folder: str) -> None:
    """Have a callback end the driver by a signal, because a task has failed."""
    assert folder
    with client() as c:
        for each in c.map(refuse, ["A7", "A8"]):
            each.add_done_callback(stop_driver)
        threading.Event().wait(60)


def asks_for_exceptions(folder: str) -> None:
    """Ask for the exception of a task that failed, and continue."""
    with client() as c:
        assert isinstance(c.submit(refuse, "A7").exception(), LookupError)


def exits(folder: str) -> None:
    """Raise `SystemExit` because of a task's error, through the client's `with`."""
    os.system(f"test -d {folder}")
    with client() as c:
        try:
            c.submit(refuse, "A7").result()
        except LookupError:
            raise SystemExit(4)  # noqa: B904 - as people write it


def exits_with_text(folder: str) -> None:
    """Call `sys.exit` with a text in the `with` of a client and a cluster."""
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as c:
        assert c.submit(len, folder).result()
        sys.exit("no orders for today")


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


def looks_at_status(folder: str) -> None:
    """Look only at the status of futures, and exit if one has failed."""
    assert folder
    with client() as c:
        futures = c.map(refuse, ["A7", "A8"])
        wait(futures)
        bad = [each.key for each in futures if each.status == "error"]
    if bad:
        raise SystemExit(f"{len(bad)} orders are left")


def holds_a_lock(folder: str) -> None:
    """Fail to send a graph, twice, and exit much later."""
    assert folder
    lock, total = threading.Lock(), None

    def is_held() -> bool:
        return lock.locked()

    with client() as c:
        for _ in range(2):
            try:
                total = c.submit(is_held, pure=False).result()
                break
            except TypeError as error:
                print("the total is made without a lock", type(error))
    if total is None:
        sys.exit(5)


def leaves_at_once(folder: str) -> None:
    """Handle what a task raised, and end the process, with its cluster, by `os._exit`."""
    assert folder
    with client() as c:
        try:
            c.submit(refuse, "A7").result()
        except LookupError:
            log.exception("the orders are left")
            os._exit(7)


def logs_its_own_error(folder: str) -> None:
    """Handle an error of a task, and log one of the driver's own for which it exits."""
    status = 0
    with client() as c:
        try:
            rate = c.submit(refuse, "A7").result()
        except LookupError as error:
            log.warning("%s: the rate of yesterday is used", error)
            rate = 2
        try:
            print(rate / (len(folder) - len(folder)))
        except ZeroDivisionError:
            log.exception("no report")
            status = 3
    sys.exit(status)


def path_of_worker() -> list[str]:
    return os.environ["PYTHONPATH"].split(os.pathsep)


def configures_path(folder: str) -> None:
    """Give workers a `PYTHONPATH` by Dask's configuration."""
    variables = {"PYTHONPATH": folder}
    with dask.config.set({"distributed.nanny.pre-spawn-environ": variables}):
        cluster = LocalCluster(n_workers=1, dashboard_address=":0")
    with cluster, Client(cluster) as c:
        assert folder in c.submit(path_of_worker).result()


def another_python(folder: str) -> None:
    """Continue in a Python that does not load the hook of `dask blackbox run`."""
    code = f"import ledger_of_{len(folder)}"
    os.execv(sys.executable, [sys.executable, "-I", "-c", code])


class Ledger:
    """An actor that another one of its kind waits for."""

    def __init__(self) -> None:
        self.other: Any = None

    def pair(self, other: Any) -> None:
        self.other = other

    def book(self) -> int:
        """Return soon."""
        return 1

    def settle(self) -> int:
        """Wait for the other's method, which waits for this one."""
        return int(self.other.settle().result())


def actors_wait(folder: str) -> None:
    """Have two actors call each other."""
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as c:
        workers = list(c.scheduler_info()["workers"])
        one, other = (
            c.submit(Ledger, actor=True, key=key, workers=[worker]).result()
            for key, worker in zip("ab", workers, strict=True)
        )
        one.pair(other).result()
        other.pair(one).result()
        # It is reported after 5 s, by a thread that a busy machine delays.
        one.settle().result(timeout=scaled(12))


def busy_actor(folder: str) -> None:
    """Call a method of an actor for longer than one call may take, then fail."""
    with client() as c:
        actor = c.submit(Ledger, actor=True).result()
        end = time.monotonic() + 9
        while time.monotonic() < end:
            assert actor.book().result() == 1
        raise LookupError("no entry in the ledger")


def restart(c: Client) -> None:
    c.restart()


def restarts(folder: str) -> None:
    """Restart the workers from a thread while a task of the driver's runs."""
    with client() as c:
        slow = c.submit(time.sleep, 30)
        threading.Timer(1, restart, [c]).start()
        slow.result()


def restarts_after_failure(folder: str) -> None:
    """Restart the workers because a task failed, and wait for the others all the same."""
    assert folder
    with client() as c:
        failed, slow = c.submit(refuse, "A7"), c.submit(time.sleep, 30)
        wait(failed)
        restart(c)
        slow.result()


def tries_again(folder: str) -> None:
    """Try again while the folder that is the lock of the first attempt is still there."""
    lock = Path(folder, "books.lock")
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as c:
        for attempt in (1, 2):
            try:
                lock.mkdir()
                c.submit(refuse, "A7").result()
            except (LookupError, FileExistsError):
                if attempt == 2:
                    raise SystemExit(f"could not take {lock}")  # noqa: B904 - likewise


def of_dask(folder: str, role: str, *options: str) -> subprocess.Popen[bytes]:
    words = ["-m", "dask", role, "--scheduler-file", f"{folder}/scheduler.json"]
    return subprocess.Popen([sys.executable, *words, *options])


def step(folder: str, name: str) -> None:
    subprocess.run([sys.executable, __file__, name, folder], check=True)


def scatters(folder: str) -> None:
    with Client(scheduler_file=f"{folder}/scheduler.json") as c:
        c.publish_dataset(books=c.scatter(list(range(9)), hash=False))


def uses(folder: str) -> None:
    with Client(scheduler_file=f"{folder}/scheduler.json") as c:
        c.submit(sum, c.get_dataset("books")).result()


def rotates_worker(folder: str) -> None:
    """Replace a worker between two steps in processes of their own, and have no client."""
    scheduler = of_dask(folder, "scheduler", "--port", "0", "--dashboard-address", ":0")
    options = ("--nthreads", "1", "--no-dashboard", "--local-directory", folder)
    worker = of_dask(folder, "worker", *options)
    try:
        step(folder, "scatters")
        worker.terminate()
        worker.wait()
        worker = of_dask(folder, "worker", *options)
        step(folder, "uses")
    finally:
        for each in (worker, scheduler):
            each.terminate()
            each.wait()


def prints_last(folder: str) -> None:
    """Print as the process exits, after Dask has closed the cluster that was left open."""
    atexit.register(print, "printed last, of", folder)
    c = client()
    assert c.submit(len, "abc").result() == 3


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2])
