import numpy as np

SLOT_MINUTES = 30


def read_manifest(path):
    """Bookings of one route: departure minute, minutes on board, kilograms."""
    return np.load(path)


def berth_weight(bookings, slots=100):
    """Weight on board per slot of the day, by spreading each booking over its slots."""
    start = np.repeat(bookings["departure"].astype("float64"), slots)
    step = np.tile(np.arange(slots, dtype="float64"), len(bookings))
    minute = start + step * np.repeat(bookings["minutes"] / slots, slots)
    weight = np.repeat(bookings["kg"] / slots, slots)
    order = np.argsort(minute, kind="stable")
    day = np.arange(0, 24 * 60, SLOT_MINUTES)
    edges = np.searchsorted(minute[order], day)
    return np.add.reduceat(weight[order], np.minimum(edges, len(order) - 1))
