"""A run that gets its secrets while it runs, in the driver and on a worker.

python secrets_loaded_later.py STORE, with the secrets as JSON in the environment
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys

from dask_blackbox import mask_secret, recording
from distributed import Client, LocalCluster
from scenario_reports import recorders, report_card, scaled, until

logger = logging.getLogger("job")


def use(value: str) -> None:
    """Print and log a value."""
    print(f"it is {value} here")
    logger.warning("it is %s here", value)


def use_and_fail(value: str) -> None:
    """Print a value and raise it."""
    use(value)
    raise ValueError(f"it was {value} there")


def load_and_fail(value: list[str]) -> None:
    """Load a value on the worker: only this process knows that it is a secret."""
    mask_secret(value[0][::-1])
    use_and_fail(value[0][::-1])


def main(store: str) -> None:
    """Record it."""
    planted: dict[str, str] = json.loads(os.environ.pop("PLANTED"))
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        rec = recording(client, store=store, job="later")
        try:
            with rec:
                use(planted["in a URL"])
                mask_secret({"extra": [planted["before"].encode()]})
                use(planted["before"])
                client.submit(use_and_fail, planted["before"]).exception(
                    timeout=scaled(60)
                )
                (first,) = recorders(os.getpid())
                os.kill(first, signal.SIGKILL)
                until(lambda: recorders(os.getpid()) - {first}, "another recorder")
                use(planted["before"])
                mask_secret(f"redis://:{planted['after']}@cache/0")
                use(planted["after"])
                client.submit(load_and_fail, [planted["on a worker"][::-1]]).result(60)
        except ValueError as error:
            report_card(rec, passed=str(error))


if __name__ == "__main__":
    main(sys.argv[1])
