"""Ratings of the domino league: each division is replayed in a small database, the tables go to the web site."""

import argparse
import itertools
import logging
import random
import sqlite3

from dask.distributed import Client, LocalCluster

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
log = logging.getLogger("domino")

PLAYERS = ["Abril", "Bento", "Chela", "Dario", "Elvira", "Fausto", "Gala", "Hugo"]


class RatingTable:
    """Elo ratings of one division, kept in a database in memory."""

    def __init__(self, division, players):
        self.division = division
        self.store = sqlite3.connect(":memory:", check_same_thread=False)
        self.store.execute("create table rating (player text primary key, elo real)")
        self.store.executemany(
            "insert into rating values (?, 1500)", [(player,) for player in players]
        )

    def elo(self, player):
        return self.store.execute(
            "select elo from rating where player = ?", (player,)
        ).fetchone()[0]

    def play(self, winner, loser):
        gain = 24 / (1 + 10 ** ((self.elo(winner) - self.elo(loser)) / 400))
        self.store.execute(
            "update rating set elo = elo + ? where player = ?", (gain, winner)
        )
        self.store.execute(
            "update rating set elo = elo - ? where player = ?", (gain, loser)
        )

    def ranking(self):
        return self.store.execute(
            "select player, elo from rating order by elo desc"
        ).fetchall()


def read_games(division, season):
    rng = random.Random(f"{division}-{season}")
    pairs = list(itertools.combinations(PLAYERS, 2))
    return [tuple(rng.sample(rng.choice(pairs), 2)) for _ in range(300)]


def count_games(games):
    return len(games)


def rate_division(division, games):
    table = RatingTable(division, PLAYERS)
    for winner, loser in games:
        table.play(winner, loser)
    return table


def champion(table):
    return table.ranking()[0][0]


def publish(table):
    for place, (player, elo) in enumerate(table.ranking(), 1):
        print(f"{table.division:<8}{place:>3} {player:<8}{elo:8.1f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--season", default="2026")
    parser.add_argument("--divisions", nargs="*", default=["north", "south", "coast"])
    args = parser.parse_args()

    with LocalCluster(
        n_workers=1, threads_per_worker=2, memory_limit="400MB", dashboard_address=None
    ) as cluster:
        with Client(cluster) as client:
            games = {
                name: client.submit(read_games, name, args.season)
                for name in args.divisions
            }
            total = sum(
                client.gather(
                    [client.submit(count_games, future) for future in games.values()]
                )
            )
            log.info("%d games in season %s", total, args.season)
            tables = {
                name: client.submit(rate_division, name, future)
                for name, future in games.items()
            }
            winners = client.gather(
                [client.submit(champion, table) for table in tables.values()]
            )
            log.info("champions: %s", ", ".join(winners))
            for name, future in tables.items():
                publish(future.result())


if __name__ == "__main__":
    main()
