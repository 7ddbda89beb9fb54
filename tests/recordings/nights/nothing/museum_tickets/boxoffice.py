import os

import requests


class BoxOffice:
    """Client of the box office service."""

    def __init__(self, url=None, timeout=6):
        self.url = url or os.environ["BOXOFFICE_URL"]
        self.timeout = timeout

    def sales(self, museum, day):
        r = requests.get(f"{self.url}/sales/{day}/{museum}", timeout=self.timeout)
        r.raise_for_status()
        return r.json()
