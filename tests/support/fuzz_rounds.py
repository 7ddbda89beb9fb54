"""One round of the fuzzer: start it, inject the fault, wait for the end, keep what happened."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

from conditions import scaled, until
from dask_blackbox.testing import EmbeddedS3, FaultyS3, faults, faulty_s3
from dask_blackbox.testing.faults import Fault
from fuzz_draws import EXTERNAL, Round
from fuzz_faults import do_it
from fuzz_network import Network, free_port, jumping_clock
from fuzz_roles import Deed, Truth, roles_in
from kill_runs import address_in, end_group
from scenario_runs import SCENARIOS, Home

__all__ = ["run_round"]

_LIMIT = "400MiB"
_HARMLESS = ("nobody", "recorder", "store", "network", "clock")
_SILENT = 10.0  # seconds without a line of any task: it hangs
_TIMEOUT = 40.0  # seconds that a host waits after the deed, before it says SIGTERM
_ENDING = 90.0  # seconds that a driver may then take
_JUMP = 3600.0
_SCENARIO = str(SCENARIOS / "fuzzed.py")
_SERVICES: dict[str, Fault | None] = {
    "refused": None,
    "silence": faults.silence,
    "slow down": faults.slow_down,
    "access denied": faults.access_denied,
    "bucket gone": faults.no_such_bucket,
    "upload reset": faults.upload_reset(64),
}


def run_round(round: Round, home: Home, s3: EmbeddedS3 | None) -> Truth:  # noqa: A002
    """Run a round to its end; return what happened."""
    truth = Truth(round, home)
    with contextlib.ExitStack() as ends:
        trouble: Callable[[], None] = lambda: None  # noqa: E731
        truth.store = str(home.folder / "store")
        environment = _environment(round, home)
        if round.s3:
            assert s3 is not None
            proxy = ends.enter_context(faulty_s3(s3))
            truth.store = f"{s3.url}/{home.folder.name}"
            truth.settings = s3.settings
            if round.recorded == "preload":  # it uploads when the cluster has ended
                ends.callback(_await_the_recorder, home)
            environment |= proxy.server.environment
            fault = _SERVICES.get(round.how)
            trouble = proxy.refuse if fault is None else partial(_begin, proxy, fault)
        environment["DASK_BLACKBOX__STORE__URL"] = truth.store
        if round.two:
            (home.folder / "another").touch()
        address = None
        network = _network(round, home)
        if network is not None:
            ends.callback(network.close)
            outage = 1 + 6 * (round.seed % 100) / 100
            trouble = partial(network.fail, round.how, outage)
        if round.cluster in EXTERNAL:
            cluster = _cluster(round, home, environment, network)
            address = ends.enter_context(cluster)
        if round.victim == "clock":  # of the host of driver and recorder
            more, jump = jumping_clock(home.folder)
            environment |= more
            trouble = partial(jump, _JUMP if round.how == "forward" else -_JUMP)
        attacher = None
        if round.recorded == "record":
            attacher = _begun(
                home, environment, "attach.log", "-m", "dask", "blackbox", "record",
                "--job", "fuzz", "--run-id", "one", str(address),
            )  # fmt: skip
            log = home.folder / "attach.log"
            until(lambda: "until Ctrl-C" in log.read_text(), "the attacher")
        process = _driver(round, home, truth, environment, address)
        try:
            do_it(truth, process, trouble)
            _await_the_end(truth, process, attacher)
            if round.recorded != "preload":
                _await_the_recorder(home)
        finally:
            _thaw(truth)
    return truth


def _network(round: Round, home: Home) -> Network | None:  # noqa: A002
    """Return a network path to the scheduler that fails for the recorder alone."""
    if round.victim != "network":
        return None

    def recorders() -> set[int]:
        return {pid for pid, role in roles_in(home).items() if role == "recorder"}

    return Network(free_port(), recorders)


def _begin(proxy: FaultyS3, fault: Fault) -> None:
    proxy.begin(fault)


def _environment(round: Round, home: Home) -> dict[str, str]:  # noqa: A002
    settings = {
        "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": str(round.failures),
        "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "10s",
        "DASK_BLACKBOX__PRELOAD__FINISH_TIMEOUT": "30s",
        "DASK_BLACKBOX__JOB": "fuzz",
        # SubprocessCluster and groups: where their workers write.
        "DASK_TEMPORARY_DIRECTORY": str(home.temporary),
    }
    if "PYTHONPATH" in os.environ:  # to fly another tree than the one installed
        settings["PYTHONPATH"] = os.environ["PYTHONPATH"]
    if round.small_spool:
        settings["DASK_BLACKBOX__SPOOL_LIMIT"] = "1 MiB"
    if round.ttl:
        settings["DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL"] = f"{round.ttl}s"
    return home.environment(**settings)


def _begun(
    home: Home, environment: dict[str, str], log: str, *words: str
) -> subprocess.Popen[bytes]:
    """Start a Python process in a session of its own."""
    with (home.folder / log).open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, *words],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            cwd=home.folder,
            start_new_session=True,
        )
    # As shells and batch systems do: who died is no zombie for long.
    threading.Thread(target=process.wait, daemon=True).start()
    return process


@contextlib.contextmanager
def _cluster(
    round: Round,  # noqa: A002
    home: Home,
    environment: dict[str, str],
    network: Network | None,
) -> Iterator[str]:
    file = home.folder / "scheduler.json"
    started = []
    if round.cluster == "elsewhere":
        code = (
            "import json, sys, threading; from distributed import LocalCluster\n"
            "if __name__ == '__main__':\n"
            "    c = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=':0',"
            " memory_limit='400MiB')\n"
            "    open(sys.argv[1], 'w').write(json.dumps({'address': c.scheduler_address}))\n"
            "    threading.Event().wait()\n"
        )
        script = home.folder / "elsewhere.py"
        script.write_text(code)
        started.append(_begun(home, environment, "s.log", str(script), str(file)))
    else:
        port = 0 if network is None else network.target
        words = ["-m", "dask", "scheduler", "--host", "127.0.0.1", "--port", str(port)]
        words += ["--no-dashboard", "--scheduler-file", str(file)]
        if round.recorded == "preload":
            words += ["--preload", "dask_blackbox.preload"]
        started.append(_begun(home, environment, "scheduler.log", *words))
    try:
        address = until(lambda: address_in(file), "the scheduler")
        if round.cluster != "elsewhere":
            for i, words in enumerate(_workers(round, address)):
                started.append(_begun(home, environment, f"worker-{i}.log", *words))
        # The recorder goes the way that the driver goes, and no other once that has worked.
        yield address if network is None else f"tcp://127.0.0.1:{network.port}"
    finally:
        for each in started:
            end_group(each)


def _workers(round: Round, address: str) -> Iterator[list[str]]:  # noqa: A002
    options = {"nthreads": 1, "memory_limit": _LIMIT}
    if round.cluster == "dask-spec":
        spec = {"cls": "distributed.Nanny", "opts": options}
        for _ in range(2):
            yield ["-m", "dask", "spec", address, "--spec", json.dumps(spec)]
    elif round.cluster == "one-process":
        worker = {"cls": "distributed.Worker", "opts": options}
        spec = {"one-process-0": worker, "one-process-1": worker}
        yield ["-m", "dask", "spec", address, "--spec", json.dumps(spec)]
    else:
        common = ["--host", "127.0.0.1", "--nthreads", "1", "--no-dashboard"]
        common += ["--memory-limit", _LIMIT]
        more = {"no-nanny": ["--no-nanny"], "nworkers": ["--nworkers", "2"]}
        for _ in range(1 if round.cluster == "nworkers" else 2):
            extra = more.get(round.cluster, [])
            yield ["-m", "dask", "worker", address, *common, *extra]


def _driver(
    round: Round,  # noqa: A002
    home: Home,
    truth: Truth,
    environment: dict[str, str],
    address: str | None,
) -> subprocess.Popen[bytes]:
    words = [_SCENARIO, round.cluster, round.work, round.recorded, truth.store]
    words += [address] if address else []
    if round.recorded == "run":
        card = str(home.folder / "card.json")
        command = ["-m", "dask", "blackbox", "run", "--job", "fuzz", "--run-id", "one"]
        words = [*command, "--card", card, "--", sys.executable, *words]
    return _begun(home, environment, "driver.log", *words)


# The end


def _await_the_end(
    truth: Truth,
    process: subprocess.Popen[bytes],
    attacher: subprocess.Popen[bytes] | None,
) -> None:
    home, kind = truth.home, truth.round
    try:
        _wait_while_it_works(
            home, process, 120 if kind.victim in _HARMLESS else _TIMEOUT
        )
    except subprocess.TimeoutExpired:
        truth.hung = "at_end" not in truth.reported
        for pid, role in roles_in(home).items():
            # Of a runner that is stopped, nobody else would let it go on.
            if role in ("driver", "runner"):
                truth.deeds.append(Deed(time.time(), role, pid, "SIGTERM (host)"))
                for number in (signal.SIGCONT, signal.SIGTERM):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, number)
        _wait(process)
    truth.ended = time.time()
    truth.code = process.returncode
    log = home.folder / "driver.log"
    truth.errors = log.read_text(errors="replace")
    if attacher is not None:
        if attacher.poll() is None:
            attacher.send_signal(signal.SIGCONT)
            attacher.send_signal(signal.SIGINT)
        _wait(attacher)
    _thaw(truth)


def _wait_while_it_works(
    home: Home, process: subprocess.Popen[bytes], timeout: float
) -> None:
    """Wait for the driver; longer than a time while tasks go on, as on a busy machine.

    Raises:
        subprocess.TimeoutExpired: if it hangs.
    """
    until_at_last = time.monotonic() + scaled(4 * timeout)
    while True:
        try:
            process.wait(scaled(timeout))
        except subprocess.TimeoutExpired:
            said = [each.stat().st_mtime for each in (home.folder / "truth").glob("*")]
            silent = time.time() - max(said, default=0.0)
            if silent > _SILENT or time.monotonic() > until_at_last:
                raise
            timeout = _SILENT
        else:
            return


def _await_the_recorder(home: Home) -> None:
    """Let store and cluster stand until the recording is finished; the referee asks."""
    with contextlib.suppress(AssertionError):
        until(
            lambda: "recorder" not in roles_in(home).values(),
            "the recorder's end",
            timeout=90,
        )


def _wait(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(_ENDING)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise AssertionError(f"no end in {_ENDING:.0f} s: {process.args!r}") from None


def _thaw(truth: Truth) -> None:
    """Let those go on that were stopped and are still there."""
    for deed in truth.deeds:
        if deed.how.startswith("SIGSTOP") and truth.home.processes().get(deed.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(deed.pid, signal.SIGCONT)
