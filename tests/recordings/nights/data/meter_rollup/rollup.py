import csv
from collections import Counter


def read_readings(path):
    with open(path, newline="") as f:
        return [
            (r["meter"], int(r["hour"]), float(r["kwh"])) for r in csv.DictReader(f)
        ]


def hourly(readings):
    total = Counter()
    for _, hour, kwh in readings:
        total[hour] += kwh
    return total


def add_up(parts):
    total = Counter()
    for p in parts:
        total.update(p)
    return total
