"""Settle the transfers between branches of a savings bank.

Each transfer books both ledgers while nobody else touches them. The batch has
a window in the night; what is not settled then goes to the morning desk.
"""

import argparse
import dataclasses
import sys
import time

from distributed import Client, LocalCluster, Lock, wait


@dataclasses.dataclass(frozen=True)
class Transfer:
    number: int
    source: str
    target: str
    cents: int


class WindowExceeded(RuntimeError):
    pass


def morning_list():
    yield Transfer(1, "harbour", "station", 12_500)
    yield Transfer(2, "market", "hillside", 4_200)


def evening_list():
    yield Transfer(3, "harbour", "market", 8_800)
    yield Transfer(4, "market", "harbour", 91_000)


def read_ledger(branch):
    time.sleep(1.5)
    return sum(ord(c) for c in branch) * 1000


def settle(transfer):
    """Both ledgers are held for the time of the booking."""
    with Lock(f"ledger-{transfer.source}"):
        balance = read_ledger(transfer.source)
        with Lock(f"ledger-{transfer.target}"):
            other = read_ledger(transfer.target)
            return {
                "number": transfer.number,
                transfer.source: balance - transfer.cents,
                transfer.target: other + transfer.cents,
            }


def interest(branch):
    return branch, read_ledger(branch) * 0.0125


def run_batch(client, transfers, window):
    futures = {
        client.submit(settle, t, key=f"settle-{t.number}", pure=False): t
        for t in transfers
    }
    try:
        wait(list(futures), timeout=window)
    except TimeoutError:
        open_ones = [t.number for f, t in futures.items() if f.status == "pending"]
        raise WindowExceeded(
            f"window of {window:.0f} s is over, {len(open_ones)} transfers go to the morning desk: {open_ones}"
        ) from None
    return client.gather(list(futures))


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--window", type=float, default=14.0, help="seconds a batch may take"
    )
    args = parser.parse_args(argv)

    cluster = LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address=None,
        memory_limit="300MB",
    )
    client = Client(cluster)
    settled = []
    try:
        for branch, amount in client.gather(
            client.map(interest, ["harbour", "market", "station"])
        ):
            print(f"interest {branch}: {amount:.2f}")
        for name, batch in (("morning", morning_list()), ("evening", evening_list())):
            print(f"batch {name}", flush=True)
            settled += run_batch(client, batch, args.window)
    except WindowExceeded as exc:
        print(f"NOT SETTLED: {exc}", file=sys.stderr)
        return 75
    finally:
        print(f"{len(settled)} transfers are booked", flush=True)
        client.close()
        cluster.close(timeout=3)
    return 0


if __name__ == "__main__":
    sys.exit(main())
