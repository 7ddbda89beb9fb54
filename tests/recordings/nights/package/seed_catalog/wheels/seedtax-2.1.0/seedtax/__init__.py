__version__ = "2.1.0"
GENERA = {"sol": "Solanum", "phas": "Phaseolus", "cuc": "Cucumis", "bra": "Brassica"}


def genus(code):
    return GENERA[code.split("-")[0]]


def aged_rate(rate, age, yearly_loss=1.5):
    """Germination rate in percent after so many years of storage."""
    return max(0.0, rate - age * yearly_loss)
