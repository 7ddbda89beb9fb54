import os

import requests

BASE = os.environ.get("QUOTE_URL", "http://127.0.0.1:8099")


def quote(segment):
    """Toll in cents of one motorway segment, from the quote service."""
    r = requests.get(f"{BASE}/v1/segment/{segment}", timeout=5)
    r.raise_for_status()
    return r.json()["cents"]


def quotes(segments):
    return {s: quote(s) for s in segments}
