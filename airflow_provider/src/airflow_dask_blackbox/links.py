"""The buttons on a task's page: its Dask run, Dask's performance report, the live dashboard.

Airflow stores what a button opens as an XCom of the task and reads it without asking this
code again.  So each address is pushed as soon as it is known: the button is there while the
task runs, and after it was killed.  When the task ends by itself, Airflow calls `get_link`
and stores the answer over what was pushed; it must repeat it.
"""

from __future__ import annotations

from typing import Final, Protocol
from urllib.parse import urlsplit

from airflow.sdk import BaseOperatorLink
from dask_blackbox.guard import guard

__all__ = [
    "LINKS",
    "RECORDING_KEY",
    "DaskDashboardLink",
    "DaskPerformanceReportLink",
    "DaskRunLink",
    "known_links",
    "push_links",
    "remove_address",
]


RECORDING_KEY: Final = "dask_recording"
"""XCom in which a task says where it records to, for the tab to find it.

Recordings that its own code makes are in others, whose keys begin with this one."""


class _KnowsTask(Protocol):
    """A task instance, as far as XCom needs it."""

    dag_id: str
    run_id: str
    task_id: str
    map_index: int | None

    def xcom_push(self, key: str, value: object) -> None: ...


class _RepeatedLink(BaseOperatorLink):
    """A link whose address was pushed while the task ran."""

    def get_link(self, operator: object, *, ti_key: object) -> str:
        if (known := getattr(operator, "dask_links", None)) is not None:
            return str(known.get(self.xcom_key, ""))
        # An operator that did not run in this process: the task went on after a deferral.
        stored: object = None
        with guard(f"the address behind the button {self.name!r}"):
            from airflow.sdk.execution_time.xcom import XCom

            stored = XCom.get_value(ti_key=ti_key, key=self.xcom_key)
        return str(stored or "")


class DaskRunLink(_RepeatedLink):
    """To the verdict and everything that was recorded: the tab "Dask run"."""

    name = "Dask run"
    xcom_key = "dask_run"


class DaskPerformanceReportLink(_RepeatedLink):
    """To Dask's own performance report of the run."""

    name = "Dask performance report"
    xcom_key = "dask_performance_report"


class DaskDashboardLink(_RepeatedLink):
    """To the cluster's live dashboard, while there is one."""

    name = "Dask dashboard"
    xcom_key = "dask_dashboard"


LINKS: Final = {
    "report": DaskRunLink(),
    "performance_report": DaskPerformanceReportLink(),
    "dashboard": DaskDashboardLink(),
}
"""By the names that a card's links have."""


def known_links(known: dict[str, str]) -> tuple[BaseOperatorLink, ...]:
    """Return the links that have an address.

    Args:
        known: What is pushed, by XCom key.
    """
    return tuple(link for link in LINKS.values() if known.get(link.xcom_key))


def push_links(
    ti: _KnowsTask, addresses: dict[str, str], known: dict[str, str]
) -> None:
    """Make buttons of those addresses that a browser can open.

    Args:
        ti: The task instance that runs.
        addresses: By the names of a card's links; an empty one takes a button away.
        known: What is pushed already, by XCom key; brought up to date.
    """
    for name, link in LINKS.items():
        address = addresses.get(name)
        if address is None or address == known.get(link.xcom_key, ""):
            continue
        # Airflow shows nothing for s3://… and file://…
        if urlsplit(address).scheme not in {"", "http", "https"}:
            continue
        with guard(f"the button {link.name!r}"):
            if address:
                ti.xcom_push(key=link.xcom_key, value=address)
            else:
                remove_address(ti, link.xcom_key, ti.task_id)
            known[link.xcom_key] = address


def remove_address(ti: _KnowsTask, key: str, task_id: str) -> None:
    """Remove what a button opens, and the button with it.

    Args:
        ti: The task instance that runs.
        key: Of the XCom.
        task_id: Of the task in the same DAG run that has the button.
    """
    from airflow.sdk.execution_time.xcom import XCom

    XCom.delete(
        key=key,
        task_id=task_id,
        dag_id=ti.dag_id,
        run_id=ti.run_id,
        map_index=ti.map_index,
    )
