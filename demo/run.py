"""Two stories in a real Airflow and a real Prefect, recorded into an S3 bucket.

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
from leftovers import MARK, end_leftovers
from prefect_host import PrefectHost
from storybook import AIRFLOW, PREFECT, Story
from telling import Teller, bucket_tree

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
    """A story that was run: where its host shows it, and what it printed there."""

    page: str
    printed: list[str]


def main(arguments: list[str]) -> int:
    """Run the demo; return its exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    teller = Teller()
    with ExitStack() as running:
        try:
            return Demo(teller, running).run(keep="--keep" in arguments)
        except KeyboardInterrupt:
            teller.wrong("interrupted")
            return 130
        except Exception as error:  # noqa: BLE001 - said here, whatever it is
            teller.wrong(f"the demo cannot continue: {type(error).__name__}: {error}")
            return 1
        finally:
            # A second Ctrl-C would leave processes behind.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            teller.doing("stopping all servers")
            running.callback(teller.quiet)


class Demo:
    """The bucket, the hosts, and what was reported."""

    def __init__(self, teller: Teller, running: ExitStack) -> None:
        self._teller = teller
        self._running = running
        for old in ("airflow", "prefect", "store"):
            shutil.rmtree(FOLDER / old, ignore_errors=True)
        self._kept = open_store(FOLDER / "store")

    def run(self, *, keep: bool) -> int:
        """Tell all stories; return the exit code."""
        self._teller.doing("making two months of orders")
        data = make_orders(FOLDER / "data")
        self._teller.done(f"orders to compute with are in {_short(data)}")
        self._teller.doing("starting an S3 server")
        server = self._running.enter_context(embedded_s3(BUCKET))
        # Between the hosts, which end first, and the bucket that recorders upload to.
        self._running.callback(end_leftovers, FOLDER)
        self._teller.done(f"the bucket is at {server.endpoint}")
        store = open_store(URL, settings=server.settings)
        environ = server.environment | {
            "DASK_BLACKBOX__STORE__URL": URL,
            "DEMO_DATA": str(data),
            MARK: str(FOLDER),
            # A busy machine takes longer than Dask's 15 s to bring a worker back.
            "DASK_DISTRIBUTED__DEPLOY__LOST_WORKER_TIMEOUT": "300s",
        }
        airflow = self._airflow(environ)
        untrue = [self._tell(story, airflow, store) for story in AIRFLOW]
        prefect = self._prefect(environ)
        untrue += [self._tell(story, prefect, store) for story in PREFECT]
        self._look_further(server, store)
        if keep:
            self._keep_up(server, airflow, prefect)
        wrong = [each for each in untrue if each]
        for each in wrong:
            self._teller.wrong(each)
        if not wrong:
            self._teller.done("all four runs ended as expected")
        return int(bool(wrong))

    def _airflow(self, environ: dict[str, str]) -> AirflowHost:
        self._teller.doing("starting Airflow")
        host = AirflowHost(
            FOLDER / "airflow",
            dags=ROOT / "dags",
            commands=VENVS / "airflow" / "bin",
            environ=environ,
            progress=self._teller.doing,
        )
        self._running.enter_context(host)
        self._teller.done(f"Airflow is at {host.url}")
        return host

    def _prefect(self, environ: dict[str, str]) -> PrefectHost:
        self._teller.doing("starting Prefect's server")
        host = PrefectHost(
            FOLDER / "prefect",
            python=VENVS / "prefect" / "bin" / "python",
            progress=self._teller.doing,
        )
        host.environ.update(environ)
        self._running.enter_context(host)
        self._teller.done(f"Prefect is at {host.url}")
        return host

    def _tell(
        self, story: Story, host: AirflowHost | PrefectHost, store: Store
    ) -> str | None:
        """Run a story and print its card; return how it differed from what was expected."""
        self._teller.doing(f"running {story.name} in {story.host}")
        if isinstance(host, AirflowHost):
            reported = _reported_in_airflow(story, host)
        else:
            reported = _reported_in_prefect(story, host)
        self._teller.doing(f"waiting for the card of {story.job}")
        card = self._card(story, store)
        untrue = story.untrue(card) if card else f"no card of {story.job} was made"
        self._teller.title(f"{story.host}: {story.name}")
        if card:
            columns, colour = self._teller.columns, self._teller.colour
            self._teller.text(text(card, width=columns, colour=colour))
        if untrue:
            self._teller.wrong(untrue)
            self._teller.text(f"the end of its output ({reported.page}):")
            self._teller.text("\n".join(reported.printed[-_TAIL:]))
        return untrue

    def _card(self, story: Story, store: Store) -> RunCard | None:
        """Return the card of the story's newest run, as it lies in the bucket.

        Its pages open from the copy of the recording that outlives the bucket.
        """
        deadline = time.monotonic() + _CARD
        while time.monotonic() < deadline:
            run = _found(store, story.job)
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
        teller = self._teller
        teller.title("In the bucket")
        teller.tree(bucket_tree(store.url, _blobs(server)))
        teller.title("To look further")
        where = "--store .demo/store"
        for command, what in (
            (f"ls {where}", "the four runs"),
            (f"show latest {where}", "the newest card"),
            (f"logs latest --level error {where}", "including those of dead workers"),
            (f"report latest --output .demo {where}", "one HTML file"),
            (f"serve {where}", "all of it in a browser: http://127.0.0.1:8899/"),
        ):
            teller.text(f"  .venvs/core/bin/dask blackbox {command:47} # {what}")
        teller.text("")

    def _keep_up(
        self, server: EmbeddedS3, airflow: AirflowHost, prefect: PrefectHost
    ) -> None:
        teller = self._teller
        teller.text(f"  Airflow   {airflow.url}/dags (trigger the DAGs again)")
        teller.text(f"  Prefect   {prefect.url}")
        teller.text(f"  bucket    {URL} at {server.endpoint} (any credentials)")
        teller.doing("all of it stays up until Ctrl-C")
        try:
            signal.pause()
        except KeyboardInterrupt:
            return


def _reported_in_airflow(story: Story, host: AirflowHost) -> Reported:
    run = host.trigger(story.name)
    host.wait(run)
    return Reported(host.page(run, story.task), host.log(run, story.task))


def _reported_in_prefect(story: Story, host: PrefectHost) -> Reported:
    run = host.run_flow(ROOT / "flows" / f"{story.name}.py")
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
