"""Tower bells: several tunings are searched at once, the first good one wins."""

import time

from dask.distributed import CancelledError, Client, as_completed


def search(tuning):
    time.sleep(0.3 + 0.4 * tuning)
    return tuning, abs(440 - (431 + 3 * tuning))


def main():
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        searches = client.map(search, range(20))
        best = None
        for future in as_completed(searches):
            tuning, beat = future.result()
            print("tuning", tuning, "beats", beat)
            if beat <= 1:
                best = tuning
                break
        client.cancel([f for f in searches if not f.done()], reason="found")
        dropped = 0
        for future in searches:
            try:
                future.result(timeout=10)
            except CancelledError:
                dropped += 1
        print("best tuning", best, "dropped", dropped > 0)


if __name__ == "__main__":
    main()
