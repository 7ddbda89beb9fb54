"""Lengths with units, some of which a program has to define first."""

_metres = {"m": 1.0, "ft": 0.3048}


def define(unit, metres):
    _metres[unit] = metres


def _restored(value, unit):
    if unit not in _metres:
        raise KeyError(f"the unit {unit!r} is not defined in the registry")
    return Length(value, unit)


class Length:
    def __init__(self, value, unit):
        self.value = value
        self.unit = unit

    def metres(self):
        return self.value * _metres[self.unit]

    def __reduce__(self):
        return _restored, (self.value, self.unit)
