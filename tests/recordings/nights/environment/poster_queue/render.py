import hashlib


def layout(order):
    return {"order": order, "cells": [(order * 31 + i) % 97 for i in range(400)]}


def rasterise(page):
    """Needs the renderer licence of the machine (resource RENDER)."""
    h = hashlib.sha256(repr(page["cells"]).encode())
    for _ in range(4000):
        h = hashlib.sha256(h.digest())
    return page["order"], h.hexdigest()
