"""What a task says in its XComs of its recording, for Airflow's own pages to find it.

Said before anything is recorded, as all of it is known by then: a slow store, or a signal
that leaves nobody to say it, takes nothing away from the page.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from airflow.configuration import conf
from dask_blackbox.guard import guard
from dask_blackbox.layout import STOPPED_BY_HOST

from airflow_dask_blackbox.addresses import TaskKey, page_of, tab_of
from airflow_dask_blackbox.links import RECORDING_KEY, push_links

if TYPE_CHECKING:
    # The real ones bring msgspec and more, and are needed in tasks only.
    from dask_blackbox import RunCard
    from dask_blackbox.identity import Identity

__all__ = ["Announcement"]

_REPORTED: Final = ("endpoint", "region", "checksum")
"""Settings that the API server needs as well, none of them a secret."""


class Announcement:
    """Where a try of a task records to, and how it stands.

    Args:
        ti: The task instance that runs.
        links: What is pushed already for its buttons, by XCom key; kept up to date.
    """

    def __init__(self, ti: Any, links: dict[str, str]) -> None:
        self._ti = ti
        self._links = links
        self._said: dict[str, Any] = {}
        self._addresses: dict[str, str] = {}
        self._dashboard = ""
        if conf.get("dask_blackbox", "links", fallback="airflow") != "store":
            key, number = TaskKey.of(ti), ti.try_number
            self._addresses = {
                "report": tab_of(key, number),
                "performance_report": page_of(
                    key, "performance_report.html", try_number=number
                ),
            }
            self._dashboard = page_of(key, "dashboard", try_number=number)

    def begin(
        self,
        who: Identity,
        *,
        store: str | None,
        conn_id: str | None,
        settings: Mapping[str, Any] | None,
    ) -> None:
        """Say where the recording will be.

        Args:
            who: The identity that it has there.
            store: URL of the store, as the task was given it.
            conn_id: The store's Airflow connection.
            settings: Of the store, all that the task knows.
        """
        push_links(self._ti, self._addresses, self._links)
        said = {
            "conn_id": conn_id,
            "job": who.job,
            "try_number": self._ti.try_number,
            "state": "running",
            **_place(store, settings),
        }
        self._said = {name: value for name, value in said.items() if value}
        with guard("logging where this task records"):
            self._ti.xcom_push(key=RECORDING_KEY, value=self._said)

    def cluster(self, dashboard: str | None) -> None:
        """Say that there is a cluster.

        Args:
            dashboard: Address of its dashboard, as Dask's settings have it.
        """
        if not dashboard:
            return
        if not self._dashboard:
            push_links(self._ti, {"dashboard": dashboard}, self._links)
            return
        # By way of the API server, which knows whether the cluster still lives.
        self._said = {**self._said, "dashboard": dashboard}
        with guard("where Dask's dashboard is"):
            self._ti.xcom_push(key=RECORDING_KEY, value=self._said)
        push_links(self._ti, {"dashboard": self._dashboard}, self._links)

    def stands(self, card: RunCard) -> None:
        """Say how the recording stands."""
        over = {} if card.state == "running" else {"dashboard": ""}
        push_links(self._ti, {**self.addressed(card).links, **over}, self._links)
        now: dict[str, Any] = {"state": card.state, "headline": card.headline}
        if card.verdict is not None and card.verdict.rule == STOPPED_BY_HOST:
            now["stopped"] = True
        if not card.completeness.get("recorded", True):
            now["problem"] = str(card.completeness.get("reason") or "unknown")
        said = {**self._said, **({} if card.state == "running" else now)}
        if card.state != "running":
            said.pop("dashboard", None)
        if card.state == "running" and "problem" in now:
            said["problem"] = now["problem"]
        if said == self._said:
            return
        self._said = said
        with guard("logging the state of the recording"):
            self._ti.xcom_push(key=RECORDING_KEY, value=said)

    def addressed(self, card: RunCard) -> RunCard:
        """Return the card with links that never expire and that ask for permission."""
        import msgspec

        links = {**card.links, **self._addresses}
        return msgspec.structs.replace(card, links=links)


def _place(store: str | None, settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the store as another process can open it, or what is wrong with it."""
    from dask_blackbox.errors import ConfigurationError
    from dask_blackbox.store import store_settings

    try:
        known = store_settings(store, settings=settings)
    except ConfigurationError as error:  # the recording says so, too, in the task's log
        return {"problem": str(error)}
    of_bucket = known["url"].startswith("s3://")
    reported = {name: known[name] for name in _REPORTED if of_bucket and known[name]}
    return {"store": known["url"], "settings": reported}
