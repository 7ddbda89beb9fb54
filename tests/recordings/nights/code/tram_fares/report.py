def per_line(trips):
    g = trips.groupby("line")["fare"]
    return {
        str(k): (float(v), int(n)) for k, v, n in zip(g.sum().index, g.sum(), g.count())
    }


def merge(parts):
    total = {}
    for part in parts:
        for line, (fare, n) in part.items():
            f0, n0 = total.get(line, (0.0, 0))
            total[line] = (round(f0 + fare, 2), n0 + n)
    return total
