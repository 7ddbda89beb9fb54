__version__ = "1.9.3"
GENERA = {"sol": "Solanum", "phas": "Phaseolus", "cuc": "Cucumis", "bra": "Brassica"}


def genus(code):
    return GENERA[code.split("-")[0]]
