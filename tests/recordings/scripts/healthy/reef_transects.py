"""Coral cover along transects. Tries the shared cluster first and falls back to one of its own."""

import argparse
import logging
import random
import socket
import subprocess
import sys
import threading
import time

from distributed import Client, LocalCluster, Lock, Variable, wait

log = logging.getLogger("reef")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def shared_cluster():
    """The institute's cluster, when it is up; most days it is not."""
    address = f"tcp://127.0.0.1:{free_port()}"
    try:
        return Client(address, timeout=3)
    except (OSError, TimeoutError) as exc:
        log.warning("no shared cluster at %s: %s", address, exc)
        return None


def native_classifier():
    """Is the fast classifier there? Its self-test aborts where the licence is missing."""
    code = "import os, sys; sys.stderr.write('classifier: no licence\\n'); sys.stderr.flush(); os.abort()"
    probe = subprocess.run([sys.executable, "-c", code])
    if probe.returncode:
        log.warning(
            "classifier not usable (exit %d), taking the slow one", probe.returncode
        )
    return probe.returncode == 0


def classify(transect, points):
    rng = random.Random(transect)
    classes = rng.choices(["coral", "algae", "sand", "rubble"], [4, 3, 2, 1], k=points)
    time.sleep(0.2)
    return transect, classes.count("coral") / points


def note(transect, patience):
    """Write to the common notebook; skip the note when somebody else has it for too long."""
    lock = Lock("notebook")
    if not lock.acquire(timeout=patience):
        return f"{transect}: notebook busy, note skipped"
    try:
        time.sleep(0.6)
        return f"{transect}: noted"
    finally:
        lock.release()


def heartbeat(client, stop):
    """A side thread that ends with an error once the client is closed; nobody needs it then."""
    try:
        while not stop.wait(0.5):
            Variable("alive", client=client).set(time.time())
        raise RuntimeError("heartbeat asked to stop")
    except RuntimeError:
        log.exception("heartbeat thread ended")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--transects", type=int, default=30)
    parser.add_argument("--wanted", type=int, default=4)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )

    client = shared_cluster()
    points = 4000 if native_classifier() else 1500
    with LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="250MiB", dashboard_address=None
    ) as cluster:
        client = client or Client(cluster)
        stop = threading.Event()
        side = threading.Thread(target=heartbeat, args=(client, stop))
        side.start()
        try:
            client.wait_for_workers(args.wanted, timeout=4)
        except TimeoutError as exc:
            log.warning("%s; going on with what is there", exc)
        covers = client.map(classify, range(args.transects), points=points)
        try:
            wait(covers, timeout=1)
        except TimeoutError:
            log.warning("not done after a second, waiting longer")
        cover = dict(client.gather(covers))
        for line in client.gather(client.map(note, range(5), patience="400ms")):
            log.info(line)
        endless = client.submit(time.sleep, 3, key="tide-watch")
        time.sleep(0.5)
        client.cancel(endless, reason="tide not needed")
        stop.set()
        side.join()
        client.close()
    log.info(
        "coral cover %.3f on %d transects", sum(cover.values()) / len(cover), len(cover)
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
