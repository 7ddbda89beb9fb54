"""Energy features of call-centre recordings."""

import os
import resource
import tempfile

import numpy as np
from dask.distributed import Client, LocalCluster

_readers = []


def make_recordings(root, n):
    rng = np.random.default_rng(1)
    for i in range(n):
        rng.integers(-3000, 3000, 800, dtype="int16").tofile(
            os.path.join(root, f"call{i:04d}.pcm")
        )


def open_recording(path):
    handle = open(path, "rb")
    _readers.append(handle)
    return handle


def energy(path):
    handle = open_recording(path)
    samples = np.frombuffer(handle.read(), dtype="int16").astype("float32")
    return float((samples**2).mean())


def lookup_agent(path, roster):
    with open(roster) as handle:
        agents = handle.read().split()
    return agents[hash(path) % len(agents)]


def set_limits(soft):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def main():
    with tempfile.TemporaryDirectory() as root:
        make_recordings(root, 600)
        roster = os.path.join(root, "roster.txt")
        with open(roster, "w") as out:
            out.write("ida jon kim lea")
        paths = [os.path.join(root, f"call{i:04d}.pcm") for i in range(600)]
        with (
            LocalCluster(
                n_workers=1, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            client.run(set_limits, 300)
            energies = client.gather(client.map(energy, paths[:240]))
            print("first pass", len(energies))
            agents = client.gather(client.map(lookup_agent, paths[:240], roster=roster))
            print("agents", len(agents))
            rest = client.gather(client.map(energy, paths[240:]))
            print("second pass", len(rest))


if __name__ == "__main__":
    main()
