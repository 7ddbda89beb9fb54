import random

import ledgerfmt

ITEMS = ["hosting", "support", "domain", "backup", "mail relay", "traffic"]


def invoice(number):
    rng = random.Random(number)
    return {
        "number": number,
        "items": [
            (rng.choice(ITEMS), rng.randint(199, 499_900))
            for _ in range(rng.randint(2, 14))
        ],
    }


def page(inv):
    lines = [f"Invoice {inv['number']}", ""]
    lines += [ledgerfmt.line(text, cents) for text, cents in inv["items"]]
    lines.append(ledgerfmt.line("total", total(inv)))
    return "\n".join(lines)


def total(inv):
    return sum(c for _, c in inv["items"])
