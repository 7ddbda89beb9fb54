"""Tariff of the tram network (zones 1..6)."""

BASE = 1.80
PER_ZONE = 0.55
STEP_PRICE = (0.0, 0.55, 1.10, 1.60, 2.05)
CARD_FACTOR = {"adult": 1.0, "child": 0.5, "senior": 0.7}


def zones_crossed(zone_from, zone_to):
    return abs(zone_to - zone_from)


def fare_of(zone_from, zone_to, card, transfers):
    # degressive zone prices since the spring tariff
    steps = zones_crossed(zone_from, zone_to)
    fare = (BASE + STEP_PRICE[steps]) * CARD_FACTOR[card]
    if transfers > 1:
        fare += 0.20 * (transfers - 1)
    return round(fare, 2)
