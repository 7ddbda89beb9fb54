"""Tuning study for bagpipe reeds: many small simulations of a vibrating blade.

Run by hand in a terminal by the pipe maker, who looks at the numbers as they come.
"""

import argparse
import random
import time

import numpy as np
from distributed import Client, as_completed


def simulate_reed(length, thickness, seed):
    """Frequency of a cane blade with a little spread of the material."""
    rng = np.random.default_rng(seed)
    stiffness = 5.5e9 * (1 + rng.normal(0, 0.03))
    density = 480 * (1 + rng.normal(0, 0.02))
    end = time.time() + 0.5
    level = np.zeros(2000)
    while time.time() < end:
        level = np.tanh(np.roll(level, 1) + rng.normal(0, 0.1, 2000))
    frequency = 0.162 * thickness / length**2 * np.sqrt(stiffness / density)
    if frequency > 1500:
        raise ValueError(f"blade of {length * 1000:.0f} mm is not playable")
    return round(float(frequency), 2)


def grid(number):
    rnd = random.Random(3)
    for seed in range(number):
        yield (
            rnd.choice([0.018, 0.021, 0.024]),
            rnd.choice([0.0006, 0.0008, 0.0010]),
            seed,
        )


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blades", type=int, default=400)
    parser.add_argument(
        "--pitch", type=float, default=466.16, help="of the chanter's low A, in Hz"
    )
    return parser.parse_args()


def main():
    options = arguments()
    client = Client(
        n_workers=2, threads_per_worker=1, memory_limit="300MB", dashboard_address=None
    )
    futures = [client.submit(simulate_reed, *blade) for blade in grid(options.blades)]
    best, seen = None, 0
    try:
        for future in as_completed(futures):
            try:
                frequency = future.result()
            except ValueError:
                continue
            seen += 1
            distance = abs(frequency - options.pitch)
            if best is None or distance < best[0]:
                best = distance, frequency
                print(f"best so far {frequency} Hz", flush=True)
            if seen == 8:
                print("eight reeds heard", flush=True)
    finally:
        print(f"{seen} of {len(futures)} reeds, best {best}", flush=True)
        client.close()


if __name__ == "__main__":
    main()
