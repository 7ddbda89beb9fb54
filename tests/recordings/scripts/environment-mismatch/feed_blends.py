"""Least-cost feed blends for a cooperative of pig and poultry farms.

Releases of the in-house package ``feedmill`` are unpacked under ``releases/``; the mill's machines run whatever the
link ``releases/current`` points to, and this job runs the release that it was deployed with.
"""

import argparse
import json
import logging
import os
import pathlib
import subprocess
import sys
import textwrap

RELEASE = "2.4"

BLENDS = '''
"""Blending of raw materials."""

PRICES = {{"barley": 0.19, "wheat": 0.22, "soy": 0.46, "rape": 0.31, "maize": 0.21}}
PROTEIN = {{"barley": 11.0, "wheat": 12.5, "soy": 46.0, "rape": 34.0, "maize": 8.5}}


def blend(target, materials{extra_arg}):
    best = None
    for a in materials:
        for b in materials:
            lo, hi = PROTEIN[a], PROTEIN[b]
            if not lo < target < hi:
                continue
            share = (target - lo) / (hi - lo)
            cost = PRICES[a] * (1 - share) + PRICES[b] * share
            {extra_line}
            if best is None or cost < best[0]:
                best = (round(cost, 4), a, b, round(share, 3))
    return best


def herd_need(herd):
    return 13.5 + (herd * 31 % 70) / 10
'''


def unpack_releases(root):
    for version, arg, line in (
        ("2.3", "", "pass"),
        ("2.4", ", *, moisture=14.0", "cost *= 100 / (100 - moisture)"),
    ):
        pkg = root / version / "feedmill"
        pkg.mkdir(parents=True, exist_ok=True)
        (pkg / "__init__.py").write_text(f"__version__ = {version!r}\n")
        (pkg / "blends.py").write_text(
            textwrap.dedent(BLENDS).format(extra_arg=arg, extra_line=line)
        )
    current = root / "current"
    if not current.is_symlink():
        current.symlink_to("2.3")
    return current


def spawn(*args, path):
    env = dict(os.environ)
    env["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str(path), env.get("PYTHONPATH")])
    )
    return subprocess.Popen([sys.executable, "-m", "dask", *args], env=env)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--herds", type=int, default=36)
    ap.add_argument("--moisture", type=float, default=13.2)
    args = ap.parse_args()
    logging.basicConfig(level=logging.INFO)
    log = logging.getLogger("feed_blends")

    releases = pathlib.Path("releases").resolve()
    current = unpack_releases(releases)
    sys.path.insert(0, str(releases / RELEASE))
    import feedmill
    from feedmill.blends import blend, herd_need
    from distributed import Client

    log.info("feedmill %s, %d herds", feedmill.__version__, args.herds)
    procs = [
        spawn(
            "scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            "0",
            "--no-dashboard",
            "--scheduler-file",
            "mill.json",
            path=releases / RELEASE,
        )
    ]
    procs += [
        spawn(
            "worker",
            "--scheduler-file",
            "mill.json",
            "--nthreads",
            "1",
            "--no-dashboard",
            "--no-nanny",
            "--name",
            f"mill-{i}",
            path=current,
        )
        for i in range(2)
    ]
    client = None
    try:
        client = Client(scheduler_file="mill.json", timeout=20)
        client.wait_for_workers(2, timeout=20)
        needs = client.map(herd_need, range(args.herds))
        materials = ["barley", "wheat", "soy", "rape", "maize"]
        # farms' data arrive over a flaky link, so each blend may be tried again
        blends = client.map(
            blend, needs, materials=materials, moisture=args.moisture, retries=2
        )
        table = dict(enumerate(client.gather(blends)))
        pathlib.Path("blends.json").write_text(json.dumps(table))
        log.info("mean cost %.3f", sum(b[0] for b in table.values()) / len(table))
    finally:
        if client is not None:
            client.close()
        for p in reversed(procs):
            p.terminate()
        for p in procs:
            try:
                p.wait(6)
            except subprocess.TimeoutExpired:
                p.kill()


if __name__ == "__main__":
    main()
