"""A simulated broker's time: nothing that it says leaves before it was said."""

import pytest

from gossamer.sim.cable import Cable
from gossamer.sim.host import Disk, HostClock, SimulatedHost, WorkCost
from gossamer.sim.network import Road
from gossamer.sim.timeline import Timeline


@pytest.mark.parametrize(("there", "back"), [(0.001, 0.009), (0.1, 0.1), (0.3, 0.02)])
def test_round_trips_are_as_long_as_the_roads(there: float, back: float) -> None:
    timeline = Timeline()
    hosts = [
        SimulatedHost(timeline, name, "ssf", Disk(), HostClock(), WorkCost()) for name in ("a", "b")
    ]
    Cable(hosts[1], hosts[0], Road(there), Road(back)).begin(0.1)
    timeline.run(10.0)
    for host, other in (hosts, reversed(hosts)):
        round_trip = host.mesh.by_name[other.name].round_trip
        assert round_trip is not None
        assert round_trip.round_trip == pytest.approx(there + back, abs=1e-5)
