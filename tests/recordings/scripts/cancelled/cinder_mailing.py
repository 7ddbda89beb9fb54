"""Render the cinder newsletter for all subscribers, within the night's compute budget."""

import logging
import tempfile
import threading
import time

from distributed import Client, LocalCluster

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger("mailing")
BUDGET_SECONDS = 10


def render_letter(subscriber):
    time.sleep(1)
    return f"Dear {subscriber}, ..."


def enforce_budget(cluster):
    log.info("budget of the night is used, releasing machines")
    cluster.close()


def main():
    with tempfile.TemporaryDirectory() as tmp:
        cluster = LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            local_directory=tmp,
        )
        client = Client(cluster)
        budget = threading.Timer(BUDGET_SECONDS, enforce_budget, args=(cluster,))
        budget.start()
        try:
            letters = client.gather(
                client.map(render_letter, [f"reader-{n}" for n in range(60)])
            )
            log.info("rendered %d letters", len(letters))
        finally:
            budget.cancel()
            budget.join()
            client.close()
            cluster.close()


if __name__ == "__main__":
    main()
