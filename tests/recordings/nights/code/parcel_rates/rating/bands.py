import pandas as pd

import settings


def band_of(grams):
    """Index of the weight band of every parcel."""
    return pd.cut(grams, bins=settings.WEIGHT_BANDS, labels=False)


def price(parcels):
    band = band_of(parcels["grams"])
    cents = band.map(dict(enumerate(settings.BAND_PRICES))).astype("float64")
    cents += parcels["bulky"] * settings.BULKY_SURCHARGE
    cents *= 1 + settings.FUEL_PERCENT / 100
    return parcels.assign(band=band.astype("float64"), cents=cents)
