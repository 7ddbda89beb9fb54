def per_line(trips):
    """Sum of fares and number of trips per line."""
    grouped = trips.groupby("line")["fare"].agg(["sum", "count"])
    return {
        str(line): (float(fares), int(n))
        for line, fares, n in zip(grouped.index, grouped["sum"], grouped["count"])
    }


def merge(parts):
    total = {}
    for part in parts:
        for line, (fare, n) in sorted(part.items()):
            f0, n0 = total.get(line, (0.0, 0))
            total[line] = (round(f0 + fare, 2), n0 + n)
    return total
