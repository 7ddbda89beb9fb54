"""Constants of the parcel rating job; operations edits these."""

DEPOTS = ["hamburg", "bremen", "kiel", "rostock"]
PARTS_PER_DEPOT = 2

# upper bounds in grams, price per band in cents
WEIGHT_BANDS = [0, 500, 1000, 2000, 5000, 10000, 31500]
BAND_PRICES = [379, 419, 549, 749, 1049, 1649]

BULKY_SURCHARGE = 2300
FUEL_PERCENT = 4.5
WORKERS = 2
