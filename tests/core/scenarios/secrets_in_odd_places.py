"""A run with secrets where few look: names, notes, sources, annotations, kept inputs.

python secrets_in_odd_places.py STORE, with the secrets as JSON in the environment
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any

import dask
from dask_blackbox import recording
from distributed import Client, LocalCluster, span
from scenario_reports import report_card

SECRETS: dict[str, str] = json.loads(os.environ["SECRETS"])
SENTENCES: list[str] = json.loads(os.environ["SENTENCES"])


def keep(
    password: str, sentences: list[str], nested: dict[str, Any], holder: object
) -> None:
    """Fail with inputs that hold secrets."""
    error = ValueError("it failed")
    error.add_note(SENTENCES[0])
    raise error from KeyError(SENTENCES[1])


class Holder:
    """Hold a secret as an attribute."""

    def __init__(self, secret: str) -> None:
        self.api_key = secret


def source_with_a_constant(number: int) -> int:
    """Return a number; a token stands in the source."""
    token = "ghp_inTheSourceTextOfAFunction0123456789"
    return number + len(token)


def main(store: str) -> None:
    """Record it."""
    dask.config.set(
        {
            "distributed.scheduler.allowed-failures": 0,
            "blackbox.capture.values": True,
            "blackbox.capture.source": True,
        }
    )
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster, name=f"client-{SECRETS['client name']}") as client,
        recording(
            client,
            store=store,
            job=f"nightly {SECRETS['job']}",
            run_id=f"run {SECRETS['run id']}",
            parameters={"list": [{"password": SECRETS["parameter"]}, *SENTENCES]},
        ) as rec,
    ):
        client.submit(source_with_a_constant, 1).result(60)
        with dask.annotate(note=SENTENCES[2]), span(f"span {SECRETS['span']}"):
            future = client.submit(
                keep,
                SECRETS["argument"],
                SENTENCES,
                {"deep": [{"db": {"password": SECRETS["nested argument"]}}]},
                Holder(SECRETS["attribute"]),
                key=f"keep-{SECRETS['key']}",
            )
            with contextlib.suppress(ValueError):
                future.result(60)
    report_card(rec)


if __name__ == "__main__":
    import sys

    main(sys.argv[1])
