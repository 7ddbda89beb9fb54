import json
import pathlib
import random
from collections import defaultdict

RATES = json.loads((pathlib.Path(__file__).parent / "rates.json").read_text())


def entries(branch, seed, n):
    """Entries of one branch: account, amount, currency."""
    rng = random.Random(f"{branch}/{seed}")
    currencies = list(RATES)
    return [(rng.choice(["4000", "4100", "6200", "6800"]), round(rng.gauss(0, 900), 2), rng.choice(currencies)) for _ in range(n)]


def convert(amount, source, target):
    return amount / RATES[source] * RATES[target]


def balances(rows, currency):
    """Balance of each account in the reporting currency."""
    result = defaultdict(float)
    for account, amount, source in rows:
        result[account] += convert(amount, source, currency)
    return dict(result)
