"""Pushes the address and state of a recording to XComs, where Airflow's pages find them.

Said before anything is recorded, as all of it is known by then: a slow store, or a signal
that leaves nobody to say it, takes nothing away from the page.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from dask_blackbox.guard import guard
from dask_blackbox.layout import STOPPED_BY_HOST

from airflow_dask_blackbox.addresses import (
    TaskKey,
    links_lead_to_store,
    on_this_server,
    page_of,
    tab_of,
)
from airflow_dask_blackbox.causes import Cause, unusual_in
from airflow_dask_blackbox.links import RECORDING_KEY, push_links
from airflow_dask_blackbox.metrics import count_run

if TYPE_CHECKING:
    # The real ones bring msgspec and more, and are needed in tasks only.
    from dask_blackbox import RunCard
    from dask_blackbox.identity import Identity
    from dask_blackbox.store import StoreChoice

__all__ = ["LinkPublisher"]

_REPORTED: Final = ("endpoint", "region", "checksum")
"""Settings that the API server needs as well, none of them a secret."""


class LinkPublisher:
    """Publishes where a try of a task records to, and its state.

    Args:
        ti: The task instance that runs.
        buttons: What is pushed already for its buttons, by XCom key; kept up to date.
            None: its operator has none, as it knows nothing of the recording.
    """

    def __init__(self, ti: Any, *, buttons: dict[str, str] | None = None) -> None:
        self._ti = ti
        self._buttons = buttons
        self._key = RECORDING_KEY
        self._announced: dict[str, object] = {}
        self._addresses: dict[str, str] = {}
        self._dashboard = ""
        self._counted = False
        if not links_lead_to_store():
            key, number = TaskKey.of(ti), ti.try_number
            self._addresses = {
                "report": tab_of(key, number),
                "performance_report": page_of(
                    key, "performance_report.html", try_number=number
                ),
            }
            self._dashboard = page_of(key, "dashboard", try_number=number)

    @property
    def address(self) -> str:
        """Of the task's page with the tab open; empty if links lead to the store."""
        return self._addresses.get("report", "")

    def begin(self, who: Identity, store: StoreChoice, *, conn_id: str | None) -> None:
        """Publish where the recording will be.

        Args:
            who: The identity that it has there.
            store: The store, with all that the task knows of it.
            conn_id: Its Airflow connection.
        """
        self._push(self._addresses)
        facts = {
            "conn_id": conn_id,
            "job": who.job,
            "run": who.run_id,
            "try_number": self._ti.try_number,
            "state": "running",
            **_place(store),
        }
        self._announced = {name: value for name, value in facts.items() if value}
        if self._buttons is None:
            # One for each place: a task's code may record more than once.
            place = repr([facts.get("store"), who.job, who.run_id])
            self._key += f"_{hashlib.sha256(place.encode()).hexdigest()[:8]}"
        with guard("logging where this task records"):
            self._ti.xcom_push(key=self._key, value=self._announced)

    def cluster(self, dashboard: str | None) -> None:
        """Publish the dashboard of the cluster.

        Args:
            dashboard: Address of its dashboard, as Dask's settings have it.
        """
        if not dashboard:
            return
        if not self._dashboard:
            self._push({"dashboard": dashboard})
            return
        # By way of the API server, which knows whether the cluster still lives.
        self._announced = {**self._announced, "dashboard": dashboard}
        with guard("where Dask's dashboard is"):
            self._ti.xcom_push(key=self._key, value=self._announced)
        self._push({"dashboard": self._dashboard})

    def cluster_ends(self) -> None:
        """Take the button of the dashboard away: its cluster ends with the task."""
        self._push({"dashboard": ""})

    def show_state(self, card: RunCard) -> None:
        """Publish the state of the recording, and count it once it has ended."""
        self._count_once(card)
        over = {} if card.state == "running" else {"dashboard": ""}
        self._push({**self.addressed(card).links, **over})
        now: dict[str, object] = {"state": card.state, "headline": card.headline}
        if card.verdict is not None and card.verdict.rule == STOPPED_BY_HOST:
            now["stopped"] = True
        if (cause := Cause.of(card)) is not None:
            now["cause"] = cause._asdict()
        if unusual := unusual_in(card):
            now["unusual"] = unusual
        if label := getattr(self._ti, "rendered_map_index", None):
            now["label"] = str(label)
        if not card.completeness.get("recorded", True):
            now["problem"] = str(card.completeness.get("reason") or "unknown")
            now["kept"] = card.completeness.get("kept", "none")
        facts = {**self._announced, **({} if card.state == "running" else now)}
        if card.state != "running":
            facts.pop("dashboard", None)
        if card.state == "running" and "problem" in now:
            facts["problem"] = now["problem"]
        if facts == self._announced:
            return
        self._announced = facts
        with guard("logging the state of the recording"):
            self._ti.xcom_push(key=self._key, value=facts)

    def _count_once(self, card: RunCard) -> None:
        if card.state != "running" and not self._counted:
            self._counted = True
            count_run(self._ti, card)

    def _push(self, addresses: dict[str, str]) -> None:
        if self._buttons is not None:
            on_page = {name: on_this_server(each) for name, each in addresses.items()}
            push_links(self._ti, on_page, self._buttons)

    def addressed(self, card: RunCard) -> RunCard:
        """Return the card with links that never expire and that ask for permission."""
        import msgspec

        links = {**card.links, **self._addresses}
        if not card.completeness.get("recorded", True):
            links.pop("performance_report", None)
        return msgspec.structs.replace(card, links=links)


def _place(store: StoreChoice) -> dict[str, object]:
    """Return the store as another process can open it, or what is wrong with it."""
    from dask_blackbox.errors import ConfigurationError

    try:
        known = store.all_settings()
    except ConfigurationError as error:  # the recording says so, too, in the task's log
        return {"problem": str(error)}
    url = str(known["url"])
    of_bucket = url.startswith("s3://")
    reported = {name: known[name] for name in _REPORTED if of_bucket and known[name]}
    return {"store": url, "settings": reported}
