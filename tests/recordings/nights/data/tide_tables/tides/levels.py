def add(acc, rec):
    low, high, n = acc
    return min(low, rec["level_cm"]), max(high, rec["level_cm"]), n + 1


def join(a, b):
    return min(a[0], b[0]), max(a[1], b[1]), a[2] + b[2]


START = (10**6, -(10**6), 0)
