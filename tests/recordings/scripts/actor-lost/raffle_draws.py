"""Draw the winners of the weekly raffles.

Tickets are loaded and checked shop by shop. A register (an actor) keeps the numbers that
were drawn, so that no ticket wins twice, whatever order the draws come in.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import tempfile
import time

from dask.distributed import Client, LocalCluster

log = logging.getLogger("raffle")

PRIZES = ["hamper", "bicycle", "weekend", "voucher-50", "voucher-20", "voucher-10"]


class DrawRegister:
    """The tickets in the drum, and who has won."""

    def __init__(self):
        self.drum: dict[str, list[int]] = {}
        self.winners: list[tuple[str, str, int]] = []

    def fill(self, shop: str, tickets: list[int]) -> int:
        self.drum[shop] = list(tickets)
        return len(tickets)

    def draw(self, prize: str, seed: int) -> tuple[str, int]:
        rng = random.Random(seed)
        shop = rng.choice(
            sorted(name for name, tickets in self.drum.items() if tickets)
        )
        ticket = self.drum[shop].pop(rng.randrange(len(self.drum[shop])))
        self.winners.append((prize, shop, ticket))
        return shop, ticket

    def size(self) -> int:
        return sum(len(tickets) for tickets in self.drum.values())


def load_tickets(shop: str, count: int) -> list[int]:
    rng = random.Random(shop)
    time.sleep(0.5)
    return [rng.randrange(10_000, 99_999) for _ in range(count)]


def check_tickets(shop: str, tickets: list[int]) -> list[int]:
    valid = sorted({ticket for ticket in tickets if ticket % 97 != 0})
    time.sleep(0.1)
    return valid


def place_register(client: Client):
    """The loaders fill worker 0 first; the register goes to the other one."""
    workers = client.scheduler_info(n_workers=-1)["workers"]
    address = max(workers, key=lambda addr: workers[addr]["name"])
    log.info("register on %s", address)
    future = client.submit(DrawRegister, actor=True, workers=[address], pure=False)
    return future.result(timeout=60)


def fill_drum(client: Client, register, shops: list[str], count: int) -> None:
    checked = {}
    for shop in shops:
        tickets = client.submit(load_tickets, shop, count)
        checked[shop] = client.submit(check_tickets, shop, tickets)
    for shop, future in checked.items():
        register.fill(shop, future.result(timeout=120)).result(timeout=60)
    log.info("%d tickets in the drum", register.size().result(timeout=60))


def give_back_nodes(cluster: LocalCluster, keep: int) -> None:
    """Loading is done: the draws need one node only."""
    cluster.scale(keep)
    deadline = time.monotonic() + 60
    while len(cluster.scheduler_info["workers"]) > keep and time.monotonic() < deadline:
        time.sleep(0.5)
    log.info("%d node(s) left", len(cluster.scheduler_info["workers"]))


def draw_all(register, week: int) -> None:
    for n, prize in enumerate(PRIZES):
        shop, ticket = register.draw(prize, week * 100 + n).result(timeout=60)
        log.info("%-12s %s, ticket %d", prize, shop, ticket)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shops", type=int, default=28)
    parser.add_argument("--tickets", type=int, default=800)
    parser.add_argument("--week", type=int, default=47)
    args = parser.parse_args(argv)
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )

    shops = [f"shop-{n:02d}" for n in range(args.shops)]
    with (
        tempfile.TemporaryDirectory(prefix="raffle-") as scratch,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="300MiB",
            dashboard_address=":0",
            local_directory=scratch,
        ) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(2, timeout=60)
        register = place_register(client)
        fill_drum(client, register, shops, args.tickets)
        give_back_nodes(cluster, keep=1)
        draw_all(register, args.week)
    log.info("raffle of week %d drawn", args.week)
    return 0


if __name__ == "__main__":
    sys.exit(main())
