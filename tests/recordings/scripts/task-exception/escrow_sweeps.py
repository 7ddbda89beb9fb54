"""Month-end sweep of the escrow accounts, one month after the other.

The signing token comes from the vault as a file which only this job may read; the
workers take it from there, it does not stay on the disk.
"""

import argparse
import hashlib
import hmac
import logging
import os
import pathlib
import secrets
import sys
import tempfile
import time

from dask.distributed import Client, LocalCluster, WorkerPlugin, get_worker

log = logging.getLogger("escrow")


class VaultToken(WorkerPlugin):
    """Gives every worker the signing token of the night."""

    name = "vault-token"

    def __init__(self, path):
        self.path = path

    def setup(self, worker):
        worker.signing_token = pathlib.Path(self.path).read_bytes()

    def teardown(self, worker):
        worker.signing_token = None


def fetch_token(folder):
    path = os.path.join(folder, "signing.token")
    with open(path, "wb") as f:
        f.write(secrets.token_bytes(32))
    os.chmod(path, 0o600)
    return path


def accounts_of(month, count):
    for n in range(count):
        seed = int(hashlib.md5(f"{month}/{n}".encode()).hexdigest()[:8], 16)
        yield {"account": f"ES{n:05d}", "month": month, "cents": seed % 9_000_000}


def interest(record):
    time.sleep(0.06)
    rate = 0.0125 if record["cents"] > 2_000_000 else 0.01
    return {**record, "interest": round(record["cents"] * rate / 12)}


def sign_batch(batch):
    """Signed transfer orders of one batch of accounts."""
    token = get_worker().signing_token
    orders = []
    for record in batch:
        line = f"{record['account']};{record['month']};{record['interest']}"
        mac = hmac.new(token, line.encode(), "sha256").hexdigest()
        orders.append(f"{line};{mac}")
    return orders


def interest_batch(records):
    return [interest(r) for r in records]


def chunks(items, size):
    items = list(items)
    return [items[i : i + size] for i in range(0, len(items), size)]


def sweep_month(client, month, count, size):
    batches = chunks(accounts_of(month, count), size)
    computed = client.map(interest_batch, batches)
    signed = client.map(sign_batch, computed, retries=1)
    orders = [o for part in client.gather(signed) for o in part]
    log.info("%s: %d orders signed", month, len(orders))
    return orders


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--months", nargs="+", default=["2026-09", "2026-10", "2026-11"]
    )
    parser.add_argument("--accounts", type=int, default=240)
    parser.add_argument("--batch", type=int, default=20)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    total = 0
    with (
        tempfile.TemporaryDirectory(prefix="escrow-") as folder,
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit="300MB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        token = fetch_token(folder)
        client.register_plugin(VaultToken(token))
        os.remove(token)
        log.info("token is with %d workers", len(client.nthreads()))
        for i, month in enumerate(args.months):
            if i:
                # fresh processes for every month, the pricing library grows otherwise
                client.restart(timeout=90)
                log.info("workers restarted for %s", month)
            total += len(sweep_month(client, month, args.accounts, args.batch))
    log.info("%d orders in all", total)
    return 0


if __name__ == "__main__":
    sys.exit(main())
