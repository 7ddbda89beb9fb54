__version__ = "3.3.0"


def amount(cents, currency="EUR", thousands="."):
    whole = f"{cents // 100:,}".replace(",", thousands)
    return f"{whole},{cents % 100:02d} {currency}"


def line(text, cents, width=60):
    right = amount(cents)
    return text[: width - len(right) - 1].ljust(width - len(right)) + right
