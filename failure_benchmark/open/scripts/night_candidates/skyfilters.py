"""A library that keeps what it has seen."""

import numpy as np

seen = []


def candidates(picture):
    seen.append(np.random.default_rng(picture).random(2_000_000))  # 16 MB
    return int((seen[-1] > 0.999).sum())
