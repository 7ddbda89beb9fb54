"""A small particle-in-cell model: the ring is cut into domains, which exchange their borders at every step."""

import argparse
import logging
import sys
import tempfile
import time

import numpy as np
from distributed import Client, LocalCluster, Queue, wait

log = logging.getLogger("plasma")


def initial_density(domain, cells):
    x = np.linspace(0, 2 * np.pi, cells, endpoint=False)
    return 1.0 + 0.1 * np.sin(x + domain)


def border_queue(source, target):
    return Queue(f"border-{source}-{target}")


def push_particles(density, left, right, dt):
    """Diffusive step with the cells of the neighbours at both ends."""
    padded = np.concatenate([[left], density, [right]])
    return density + dt * (padded[2:] - 2 * density + padded[:-2])


def advance_domain(domain, density, domains, steps, dt):
    left, right = (domain - 1) % domains, (domain + 1) % domains
    to_left, to_right = border_queue(domain, left), border_queue(domain, right)
    from_left, from_right = border_queue(left, domain), border_queue(right, domain)
    for _ in range(steps):
        to_left.put(float(density[0]))
        to_right.put(float(density[-1]))
        density = push_particles(density, from_left.get(), from_right.get(), dt)
    return density


def field_energy(density):
    return float(((density - density.mean()) ** 2).sum())


def warm_up(client, domains, cells):
    """Start densities, and what they cost."""
    started = time.monotonic()
    densities = client.map(initial_density, range(domains), cells=cells)
    energies = client.gather(client.map(field_energy, densities))
    log.info("initial energy %.4f (%.1f s)", sum(energies), time.monotonic() - started)
    return densities


def run_model(client, densities, args):
    futures = [
        client.submit(advance_domain, n, density, args.domains, args.steps, args.dt)
        for n, density in enumerate(densities)
    ]
    wait(futures, timeout=args.walltime)
    return client.map(field_energy, futures)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--domains", type=int, default=5)
    parser.add_argument("--cells", type=int, default=256)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--dt", type=float, default=0.2)
    parser.add_argument("--walltime", type=float, default=20)
    args = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )

    with tempfile.TemporaryDirectory(prefix="plasma-") as scratch:
        with (
            LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                dashboard_address=":0",
                local_directory=scratch,
            ) as cluster,
            Client(cluster) as client,
        ):
            densities = warm_up(client, args.domains, args.cells)
            try:
                energies = client.gather(run_model(client, densities, args))
            except TimeoutError:
                log.error("model not ready after %.0f s of walltime", args.walltime)
                sys.exit(9)
            log.info("final energy %.4f", sum(energies))


if __name__ == "__main__":
    main()
