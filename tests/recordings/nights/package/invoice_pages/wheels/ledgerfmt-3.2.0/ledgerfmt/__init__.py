__version__ = "3.2.0"


def amount(cents, currency="EUR"):
    return f"{cents // 100},{cents % 100:02d} {currency}"


def line(text, cents, width=60):
    right = amount(cents)
    return text[: width - len(right) - 1].ljust(width - len(right)) + right
