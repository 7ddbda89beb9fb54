import grovelib
import numpy as np


def canopy(seed, trees):
    """Litres of fruit per tree, from the drone's point counts."""
    return np.random.default_rng(seed).gamma(4.0, 22.0, trees)


def bootstrap_yield(litres, fruit, rounds):
    """Mean weight per tree with a 95 % interval, by bootstrap (rounds x trees matrix)."""
    kg = grovelib.kilograms(litres, fruit)
    rng = np.random.default_rng(len(kg))
    sample = kg[rng.integers(0, len(kg), (rounds, len(kg)), dtype="int32")]
    cut = len(kg) // 50
    trimmed = np.partition(sample, [cut, len(kg) - cut], axis=1)[:, cut:-cut]
    means = np.sort(trimmed.mean(axis=1))
    return float(kg.mean()), float(means[rounds // 40]), float(means[-rounds // 40])
