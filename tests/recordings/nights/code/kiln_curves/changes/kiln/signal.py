import numpy as np

WINDOW = 9


def thermocouple(seed, n):
    rng = np.random.default_rng(seed)
    base = 20 + 1220 * np.sin(np.linspace(0, np.pi, n)) ** 0.4
    curve = base + rng.normal(0, 2.0, n)
    curve[rng.integers(0, n, n // 200)] += 300
    return curve


def smooth(curve, window=WINDOW):
    """Running median over the window; edges repeat the first and last value."""
    half = window // 2
    padded = np.pad(curve, half, mode="edge")
    out = np.empty(len(curve))
    for i in range(len(curve)):
        part = np.sort(padded[i:i + window])
        out[i] = part[half]
    return out


def soak_minutes(curve, above=1180.0):
    return float((curve > above).sum() / 60)
