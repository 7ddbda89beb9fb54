"""Oil yields of olive presses, from the presses' small web pages.

Presses answer badly at night: they are asked again, and those that do not
answer at all or send rubbish are listed for the day shift, which is all right.
"""

import hashlib
import json
import logging
import pathlib
import random
import time
from collections import defaultdict

from dask.distributed import Client, LocalCluster, as_completed

log = logging.getLogger("presses")
STATE = pathlib.Path("press_state")


class PressSilent(Exception):
    """The press did not answer."""


class Rubbish(ValueError):
    """The press answered, but not with a yield."""


def page_of(press):
    """The press's page; every fifth needs a second call, 13 has no power."""
    calls = STATE / f"{press}.calls"
    n = int(calls.read_text()) + 1 if calls.exists() else 1
    calls.write_text(str(n))
    time.sleep(0.15)
    if press == 13 or (press % 5 == 0 and n == 1):
        raise PressSilent(f"press {press} did not answer (call {n})")
    if press == 22:
        return "<html>maintenance</html>"
    rng = random.Random(press)
    return json.dumps(
        {
            "press": press,
            "kilos": rng.randrange(400, 900),
            "litres": rng.randrange(60, 160),
        }
    )


def read_yield(page):
    try:
        data = json.loads(page)
    except json.JSONDecodeError as exc:
        raise Rubbish(page[:30]) from exc
    return {"press": data["press"], "yield": data["litres"] / data["kilos"]}


def certify(row, rounds=120_000):
    """The cooperative's seal (slow on purpose)."""
    seal = hashlib.pbkdf2_hmac("sha256", repr(row).encode(), b"olive", rounds)
    return {**row, "seal": seal.hex()[:12]}


def main():
    logging.basicConfig(level=logging.INFO)
    STATE.mkdir(exist_ok=True)
    later = defaultdict(list)
    sealed = []
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            memory_limit="300MB",
            dashboard_address=None,
        ) as cluster,
        Client(cluster) as client,
    ):
        presses = {}
        for press in range(30):
            page = client.submit(page_of, press, retries=2, pure=False)
            row = client.submit(read_yield, page)
            presses[client.submit(certify, row)] = press
        for future in as_completed(presses):
            try:
                sealed.append(future.result())
            except (PressSilent, Rubbish) as exc:
                later[type(exc).__name__].append(presses[future])
                log.warning("press %d for the day shift: %s", presses[future], exc)
    if len(sealed) < 25:
        raise SystemExit("too few presses answered")
    pathlib.Path("yields.json").write_text(
        json.dumps(sorted(sealed, key=lambda r: r["press"]))
    )
    pathlib.Path("day_shift.json").write_text(json.dumps(later))
    print(len(sealed), "yields,", sum(map(len, later.values())), "for the day shift")


if __name__ == "__main__":
    main()
