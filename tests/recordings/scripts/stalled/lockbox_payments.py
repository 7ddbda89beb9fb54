"""Matches last night's lockbox payments with open invoices.

The bank's gateway is asked for the statement of each account; the gateway used here is a stand-in that this
script starts as a process of its own (the treasury's test gateway does the same).
"""

import json
import subprocess
import sys
import textwrap
import time
import urllib.error
import urllib.request
from datetime import date

import dask
from distributed import Client, LocalCluster, as_completed

GATEWAY = textwrap.dedent("""
    import http.server, json, sys, threading, time

    class Gateway(http.server.BaseHTTPRequestHandler):
        seen = set()

        def do_GET(self):
            account = self.path.rsplit("/", 1)[-1]
            if account == "4410" and account not in self.seen:
                self.seen.add(account)
                self.send_error(503)
                return
            if account == "4427":
                # batch of this account is still being posted
                threading.Event().wait()
            rows = [{"ref": f"{account}-{i}", "amount": 100 + 7 * i} for i in range(40)]
            body = json.dumps(rows).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Gateway)
    server.daemon_threads = True
    print(server.server_port, flush=True)
    server.serve_forever()
""")

ACCOUNTS = ["4402", "4410", "4415", "4427", "4433", "4440"]


class Treasury:
    def __init__(self, port):
        self.base = f"http://127.0.0.1:{port}/statements"

    def get(self, account):
        for attempt in (1, 2, 3):
            try:
                with urllib.request.urlopen(f"{self.base}/{account}") as answer:
                    return json.loads(answer.read())
            except urllib.error.HTTPError as exc:
                print(
                    f"gateway said {exc.code} for {account}, attempt {attempt}",
                    flush=True,
                )
                time.sleep(0.3)
        raise RuntimeError(f"gateway unavailable for {account}")


@dask.delayed
def fetch_statement(bank, account):
    return account, bank.get(account)


@dask.delayed
def open_invoices(account):
    return {f"{account}-{i}": 100 + 7 * i for i in range(0, 40, 2)}


@dask.delayed
def match(statement, invoices):
    account, rows = statement
    paid = [row["ref"] for row in rows if invoices.get(row["ref"]) == row["amount"]]
    return account, len(paid), len(rows) - len(paid)


def main():
    gateway = subprocess.Popen(
        [sys.executable, "-c", GATEWAY], stdout=subprocess.PIPE, text=True
    )
    report = {}
    try:
        bank = Treasury(int(gateway.stdout.readline()))
        with LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            memory_limit="400MB",
            dashboard_address=None,
        ) as cluster:
            with Client(cluster) as client:
                jobs = [
                    match(
                        fetch_statement(bank, a, dask_key_name=f"fetch_statement-{a}"),
                        open_invoices(a),
                    )
                    for a in ACCOUNTS
                ]
                futures = client.compute(jobs)
                for future in as_completed(futures, timeout=15):
                    account, paid, unmatched = future.result()
                    report[account] = {"paid": paid, "unmatched": unmatched}
                    print(f"{account}: {paid} paid, {unmatched} unmatched", flush=True)
    finally:
        with open(f"lockbox_{date.today():%Y%m%d}.json", "w") as out:
            json.dump(report, out, indent=1)
        gateway.terminate()
        gateway.wait()


if __name__ == "__main__":
    main()
