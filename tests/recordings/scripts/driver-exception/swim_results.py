import threading
import time

from dask.distributed import Client, LocalCluster

POINTS = {"free": 1.0, "back": 1.1, "breast": 1.15, "fly": 1.2}
HEATS = [
    (n, ["free", "back", "breast", "fly", "medley"][n % 5 if n == 14 else n % 4])
    for n in range(24)
]


class Board:
    def __init__(self, heats):
        self.pending = heats
        self.scores = {}
        self.complete = threading.Event()
        self.guard = threading.Lock()

    def on_result(self, future):
        heat, stroke, seconds = future.result()
        score = round(1000 / seconds * POINTS[stroke], 2)
        with self.guard:
            self.scores[heat] = score
            self.pending -= 1
            if not self.pending:
                self.complete.set()


def time_heat(heat, stroke):
    time.sleep(0.05)
    return heat, stroke, 48 + (heat * 13) % 21


def main():
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    client = Client(cluster)
    board = Board(len(HEATS))
    try:
        futures = [
            client.submit(time_heat, heat, stroke, key=f"heat-{heat}")
            for heat, stroke in HEATS
        ]
        for future in futures:
            future.add_done_callback(board.on_result)
        if not board.complete.wait(timeout=9):
            raise TimeoutError(
                f"score board not complete: {len(board.scores)} of {len(HEATS)} heats"
            )
        print("winner", max(board.scores.items(), key=lambda s: s[1]))
    finally:
        client.close()
        cluster.close()


if __name__ == "__main__":
    main()
