"""Assess harbour dues for the day's port calls with the vessel register."""

import json
import logging
import pathlib
import socket
import tempfile
import urllib.error
import urllib.request

import dask
from dask.distributed import Client, LocalCluster

log = logging.getLogger("harbour")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def seed_cache(path):
    register = {
        f"IMO{n}": {"name": f"vessel {n}", "grt": 900 + 210 * n} for n in range(30)
    }
    path.write_text(json.dumps({"format": 3, "vessels": register}))


class Register:
    def __init__(self, url, cache):
        self.url = url
        self.cache = cache

    def load(self):
        try:
            with urllib.request.urlopen(self.url, timeout=3) as reply:
                self.cache.write_bytes(reply.read())
        except urllib.error.URLError as exc:
            log.warning(
                "register refresh: %s; going on with %s", exc.reason, self.cache.name
            )
        return json.loads(self.cache.read_text())["vessels"]


@dask.delayed
def assess(call, vessels):
    vessel = vessels[call["imo"]]
    tonnage = vessel["gross_tonnage"]
    return call["imo"], round(0.11 * tonnage * call["days"], 2)


@dask.delayed
def total(dues):
    return round(sum(amount for _, amount in dues), 2)


def main():
    logging.basicConfig(level=logging.INFO)
    calls = [{"imo": f"IMO{n * 7 % 30}", "days": 1 + n % 4} for n in range(24)]
    with tempfile.TemporaryDirectory() as tmp:
        cache = pathlib.Path(tmp) / "register.json"
        seed_cache(cache)
        register = Register(f"http://127.0.0.1:{free_port()}/register?format=4", cache)
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster),
        ):
            vessels = dask.delayed(register.load())
            dues = [assess(call, vessels) for call in calls]
            print("dues", total(dues).compute())


if __name__ == "__main__":
    main()
