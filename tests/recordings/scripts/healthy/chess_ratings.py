"""Chess ratings: the federation's server drops connections, so tasks are retried."""

import os
import tempfile

from dask.distributed import Client


def games(folder, player):
    mark = os.path.join(folder, f"{player}.try")
    tries = os.path.getsize(mark) if os.path.exists(mark) else 0
    with open(mark, "a") as f:
        f.write("x")
    if player % 4 == 1 and tries < 2:
        raise ConnectionResetError(f"player {player}: connection reset by peer")
    return [(player * 7 + g) % 3 / 2 for g in range(12)]


def rating(results):
    return 1500 + round(16 * sum(r - 0.5 for r in results))


def main():
    with tempfile.TemporaryDirectory() as folder:
        with Client(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as client:
            played = client.map(games, [folder] * 20, range(20), retries=3)
            ratings = client.gather(client.map(rating, played))
            print("best:", max(ratings), "of", len(ratings))


if __name__ == "__main__":
    main()
