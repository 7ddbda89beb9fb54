import json
import pathlib
import random

RATES = json.loads((pathlib.Path(__file__).parent / "rates.json").read_text())


def entries(branch, seed, n):
    rng = random.Random(f"{branch}/{seed}")
    currencies = list(RATES)
    return [
        (
            rng.choice(["4000", "4100", "6200", "6800"]),
            round(rng.gauss(0, 900), 2),
            rng.choice(currencies),
        )
        for _ in range(n)
    ]


def convert(amount, source, target):
    return amount / RATES[source] * RATES[target]


def balances(rows, currency):
    out = {}
    for account, amount, source in rows:
        out[account] = out.get(account, 0.0) + convert(amount, source, currency)
    return out
