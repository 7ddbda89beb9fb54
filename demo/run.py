"""Two runs in a real Airflow and a real Prefect, recorded into an S3 bucket.

An ETL that succeeds, and a join that runs out of memory, as a DAG and as a flow; each
host in its own environment.  What is printed of them comes from the bucket.  At the end
everything is stopped, and what was recorded is left in `.demo/store`, to be looked at.

    make demo            ends by itself
    make demo KEEP=1     leaves Airflow, Prefect and the bucket up until Ctrl-C
"""

from __future__ import annotations

import shutil
import signal
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from airflow_host import AirflowHost
from dask_blackbox import RunCard
from dask_blackbox.errors import RunNotFoundError
from dask_blackbox.reader import Run, find_run
from dask_blackbox.report import text
from dask_blackbox.store import Store, open_store
from dask_blackbox.testing import EmbeddedS3, embedded_s3
from data import make_orders
from demo_runs import AIRFLOW, PREFECT, DemoRun
from leftovers import MARK, end_leftovers
from output import Output, bucket_tree
from prefect_host import PrefectHost

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".demo"
VENVS = ROOT / ".venvs"
BUCKET = "dask-blackbox-demo"
URL = f"s3://{BUCKET}/runs"

PAGES = (("report", "report.html"), ("performance report", "performance_report.html"))

_CARD = 60.0
"""Seconds for a card to reach the bucket after its run."""
_TAIL = 40


class Reported(NamedTuple):
    """A run of the demo: where its host shows it, and what it printed there."""

    page: str
    printed: list[str]


def main(arguments: list[str]) -> int:
    """Run the demo; return its exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    output = Output()
    with ExitStack() as running:
        try:
            return Demo(output, running).run(keep="--keep" in arguments)
        except KeyboardInterrupt:
            output.wrong("interrupted")
            return 130
        except Exception as error:  # noqa: BLE001 - said here, whatever it is
            output.wrong(f"the demo cannot continue: {type(error).__name__}: {error}")
            return 1
        finally:
            # A second Ctrl-C would leave processes behind.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            output.doing("stopping all servers")
            running.callback(output.quiet)


class Demo:
    """The bucket, the hosts, and what was reported."""

    def __init__(self, output: Output, running: ExitStack) -> None:
        self._output = output
        self._running = running
        for old in ("airflow", "prefect", "store"):
            shutil.rmtree(FOLDER / old, ignore_errors=True)
        self._kept = open_store(FOLDER / "store")

    def run(self, *, keep: bool) -> int:
        """Run all of them; return the exit code."""
        self._output.doing("making two months of orders")
        data = make_orders(FOLDER / "data")
        self._output.done(f"orders to compute with are in {_short(data)}")
        self._output.doing("starting an S3 server")
        server = self._running.enter_context(embedded_s3(BUCKET))
        # Between the hosts, which end first, and the bucket that recorders upload to.
        self._running.callback(end_leftovers, FOLDER)
        self._output.done(f"the bucket is at {server.endpoint}")
        store = open_store(URL, settings=server.settings)
        environ = server.environment | {
            "DASK_BLACKBOX__STORE__URL": URL,
            "DEMO_DATA": str(data),
            MARK: str(FOLDER),
            # A busy machine takes longer than Dask's 15 s to bring a worker back.
            "DASK_DISTRIBUTED__DEPLOY__LOST_WORKER_TIMEOUT": "300s",
        }
        airflow = self._airflow(environ)
        untrue = [self._run(demo_run, airflow, store) for demo_run in AIRFLOW]
        prefect = self._prefect(environ)
        untrue += [self._run(demo_run, prefect, store) for demo_run in PREFECT]
        self._look_further(server, store)
        if keep:
            self._keep_up(server, airflow, prefect)
        wrong = [each for each in untrue if each]
        for each in wrong:
            self._output.wrong(each)
        if not wrong:
            self._output.done("all four runs ended as expected")
        return int(bool(wrong))

    def _airflow(self, environ: dict[str, str]) -> AirflowHost:
        self._output.doing("starting Airflow")
        host = AirflowHost(
            FOLDER / "airflow",
            dags=ROOT / "dags",
            commands=VENVS / "airflow" / "bin",
            environ=environ,
            progress=self._output.doing,
        )
        self._running.enter_context(host)
        self._output.done(f"Airflow is at {host.url}")
        return host

    def _prefect(self, environ: dict[str, str]) -> PrefectHost:
        self._output.doing("starting Prefect's server")
        host = PrefectHost(
            FOLDER / "prefect",
            python=VENVS / "prefect" / "bin" / "python",
            progress=self._output.doing,
        )
        host.environ.update(environ)
        self._running.enter_context(host)
        self._output.done(f"Prefect is at {host.url}")
        return host

    def _run(
        self, demo_run: DemoRun, host: AirflowHost | PrefectHost, store: Store
    ) -> str | None:
        """Run one of them and print its card; return how it differed from what was expected."""
        self._output.doing(f"running {demo_run.name} in {demo_run.host}")
        if isinstance(host, AirflowHost):
            reported = _reported_in_airflow(demo_run, host)
        else:
            reported = _reported_in_prefect(demo_run, host)
        self._output.doing(f"waiting for the card of {demo_run.job}")
        card = self._card(demo_run, store)
        untrue = (
            demo_run.untrue(card) if card else f"no card of {demo_run.job} was made"
        )
        self._output.title(f"{demo_run.host}: {demo_run.name}")
        if card:
            columns, colour = self._output.columns, self._output.colour
            self._output.text(text(card, width=columns, colour=colour))
        if untrue:
            self._output.wrong(untrue)
            self._output.text(f"the end of its output ({reported.page}):")
            self._output.text("\n".join(reported.printed[-_TAIL:]))
        return untrue

    def _card(self, demo_run: DemoRun, store: Store) -> RunCard | None:
        """Return the card of its newest run, as it lies in the bucket.

        Its pages open from the copy of the recording that outlives the bucket.
        """
        deadline = time.monotonic() + _CARD
        while time.monotonic() < deadline:
            run = _found(store, demo_run.job)
            if run is not None and run.ending is not None:
                card = RunCard.from_json(store.get(f"{run.folder}card.json"))
                links = self._copied(store, run.folder)
                return msgspec.structs.replace(card, links=links)
            time.sleep(0.5)
        return None

    def _copied(self, store: Store, folder: str) -> dict[str, str]:
        """Copy a recording to where it can be looked at later; return its pages."""
        for part in (folder, "index/"):
            for name in store.names(part):
                self._kept.put(name, store.get(name))
        links = {
            name: self._kept.link(f"{folder}{page}", expires=0) for name, page in PAGES
        }
        return {name: link for name, link in links.items() if link}

    def _look_further(self, server: EmbeddedS3, store: Store) -> None:
        output = self._output
        output.title("In the bucket")
        output.tree(bucket_tree(store.url, _blobs(server)))
        output.title("To look further")
        where = "--store .demo/store"
        for command, what in (
            (f"ls {where}", "the four runs"),
            (f"show latest {where}", "the newest card"),
            (f"logs latest --level error {where}", "including those of dead workers"),
            (f"report latest --output .demo {where}", "one HTML file"),
            (f"serve {where}", "all of it in a browser: http://127.0.0.1:8899/"),
        ):
            output.text(f"  .venvs/core/bin/dask blackbox {command:47} # {what}")
        output.text("")

    def _keep_up(
        self, server: EmbeddedS3, airflow: AirflowHost, prefect: PrefectHost
    ) -> None:
        output = self._output
        output.text(f"  Airflow   {airflow.url}/dags (trigger the DAGs again)")
        output.text(f"  Prefect   {prefect.url}")
        output.text(f"  bucket    {URL} at {server.endpoint} (any credentials)")
        output.doing("all of it stays up until Ctrl-C")
        try:
            signal.pause()
        except KeyboardInterrupt:
            return


def _reported_in_airflow(demo_run: DemoRun, host: AirflowHost) -> Reported:
    run = host.trigger(demo_run.name)
    host.wait(run)
    return Reported(host.page(run, demo_run.task), host.log(run, demo_run.task))


def _reported_in_prefect(demo_run: DemoRun, host: PrefectHost) -> Reported:
    run = host.run_flow(ROOT / "flows" / f"{demo_run.name}.py")
    return Reported(run.url, run.output.splitlines())


def _found(store: Store, job: str) -> Run | None:
    try:
        return find_run(store, job)
    except RunNotFoundError:
        return None


def _blobs(server: EmbeddedS3) -> list[tuple[str, int]]:
    client: Any = server.client()
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=server.bucket)
    prefix = f"{URL.removeprefix(server.url)}/".lstrip("/")
    return [
        (blob["Key"].removeprefix(prefix), blob["Size"])
        for page in pages
        for blob in page.get("Contents", ())
    ]


def _short(path: Path) -> str:
    return str(path.relative_to(ROOT))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
