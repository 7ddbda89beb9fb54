"""Greenhouse climate: heating and vents for the next hours, zone by zone.

Started every hour by the building control. A first round estimates the heat
losses, a second balances the zones with the setpoints of the growers.
"""

import json
import logging
import threading
import time
from datetime import datetime, timedelta

import numpy as np
from distributed import Client, LocalCluster

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger("climate")


class Setpoints:
    """What growers asked for; the web form may change it while we run."""

    def __init__(self, values):
        self._values = dict(values)
        self._guard = threading.Lock()

    def get(self, zone):
        with self._guard:
            return self._values.get(zone, 18.0)

    def put(self, zone, value):
        with self._guard:
            self._values[zone] = value


class ZoneBalancer:
    def __init__(self, setpoints, hours):
        self.setpoints = setpoints
        self.hours = hours

    def balance(self, zone, losses):
        target = self.setpoints.get(zone)
        temperature = 16.0
        plan = []
        for loss in losses[: self.hours]:
            heating = max(0.0, (target - temperature) * 2.5 + loss)
            temperature += (heating - loss) / 4
            plan.append(round(heating, 2))
        return zone, plan


def heat_losses(zone, hours):
    rng = np.random.default_rng(zone)
    outside = (
        4 + 3 * np.sin(np.arange(hours) / 24 * 2 * np.pi) + rng.normal(0, 0.5, hours)
    )
    return ((18 - outside) * (0.3 + zone % 5 / 20)).tolist()


def weather_service(attempt):
    """The forecast; the service is often busy on the hour."""
    if attempt == 0:
        raise TimeoutError("forecast service: read timed out")
    return datetime(2026, 11, 28, 6) + timedelta(hours=1)


def forecast_time(client):
    for attempt in range(3):
        try:
            return client.submit(weather_service, attempt, pure=False).result()
        except TimeoutError as error:
            log.warning("attempt %d: %s", attempt + 1, error)
            time.sleep(0.5)
    raise RuntimeError("no forecast")


def publish(plans, issued):
    document = {
        "issued": issued.isoformat(),
        "zones": {zone: plan for zone, plan in plans},
    }
    with open("plan.json", "w") as out:
        json.dump(document, out)
    return sum(map(sum, document["zones"].values()))


def run(zones=20, hours=12):
    setpoints = Setpoints({zone: 17.0 + zone % 4 for zone in range(zones)})
    cluster = LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        memory_limit="400MB",
        host="127.0.0.1",
        dashboard_address=None,
    )
    client = Client(cluster)
    try:
        issued = forecast_time(client)
        losses = client.map(heat_losses, range(zones), hours=hours)
        setpoints.put(3, 21.0)
        balancer = ZoneBalancer(setpoints, hours)
        plans = client.map(balancer.balance, range(zones), losses, pure=False)
        energy = publish(client.gather(plans), issued)
        log.info("plan of %s: %.1f kWh", issued, energy)
    finally:
        with open("plan.json") as source:
            log.info("plan holds %d zones", len(json.load(source)["zones"]))
        client.close()
        cluster.close()


if __name__ == "__main__":
    run()
