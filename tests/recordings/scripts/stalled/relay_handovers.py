"""Replay of the relay race's timing: the legs of a team start together on the cluster."""

import logging
import time

from dask.distributed import Client, Event, LocalCluster, Queue, get_worker

log = logging.getLogger("relay")
TEAMS = {"Harriers": (11.9, 12.4, 11.7), "Swifts": (12.1, 11.8, 12.6)}


def leg(team, number, seconds, patience=30):
    """Report at the changeover box, then run when the starter says so."""
    box = Queue(f"box-{team}")
    box.put({"leg": number, "lane": get_worker().name})
    if not Event(f"go-{team}").wait(timeout=patience):
        return team, number, None
    started = time.monotonic()
    time.sleep(seconds / 20)
    return team, number, round(20 * (time.monotonic() - started), 1)


class Starter:
    """Collects the runners of a team and starts them once all of them are in the box."""

    def __init__(self, client, patience=10):
        self.client = client
        self.patience = patience

    def start(self, team, legs):
        box = Queue(f"box-{team}", client=self.client)
        futures = [self.client.submit(leg, team, n, s) for n, s in enumerate(legs)]
        present = []
        for _ in legs:
            runner = box.get(timeout=self.patience)
            present.append(runner["leg"])
            log.info(
                "%s: leg %d is ready in lane %s", team, runner["leg"], runner["lane"]
            )
        Event(f"go-{team}", client=self.client).set()
        return self.client.gather(futures)


def main():
    logging.basicConfig(level=logging.INFO)
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        starter = Starter(client)
        for team, legs in TEAMS.items():
            times = starter.start(team, legs)
            print(team, round(sum(t for _, _, t in times), 1))


if __name__ == "__main__":
    main()
