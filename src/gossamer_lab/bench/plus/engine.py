"""How many publications a second the operators take, on one core, in simulated time."""

import time
from dataclasses import dataclass

from gossamer.plus.engine import Engine
from gossamer.plus.publication import Publication
from gossamer.plus.state import OperatorState
from gossamer.topics.names import matches

# What the dashboards of a building would ask.
CHAINS = (
    "$AVG",
    "$MAX",
    "$GT;28",
    "$QUARTERHOURLYAVG",
    "$HOURLYMAX",
    "$AVG$QUARTERHOURLYAVG",
    "$COUNT$GT;25",
    "$HOURLYP95",
    "$GT;29$MIN",
    "$SUM$HOURLYCOUNT",
)
SENSOR_RATE = 10.0  # publications a second of each sensor, in simulated time


@dataclass(frozen=True)
class EngineRun:
    sensors: int
    operators: int
    each: int  # operators that read one sensor
    publications: int
    results: int
    seconds: float

    @property
    def rate(self) -> float:
        """Publications a second."""
        return self.publications / self.seconds


def run_engine(sensors: int, operators: int, each: int, publications: int) -> EngineRun:
    """Every sensor publishes in turn and is read by `each` operators, those of its room."""
    engine = Engine()
    rooms = operators // each
    states = [
        engine.subscribe(engine.parse(f"{CHAINS[number % len(CHAINS)]}/room{number % rooms}/+"))
        for number in range(rooms * each)
    ]
    topics = [f"room{number % rooms}/sensor{number}" for number in range(sensors)]
    routes = _routes(topics, states)
    payloads = [f"{20 + number % 113 / 10:.1f}".encode() for number in range(1009)]
    step = 1.0 / (sensors * SENSOR_RATE)
    now = 0.0
    results = 0
    begun = time.process_time()
    for number in range(publications):
        at = number % sensors
        publication = Publication(topics[at], payloads[number % 1009])
        for state in routes[at]:
            results += len(state.accept(publication, now))
        now += step
        if engine.next_due() <= now:
            results += len(engine.tick(now))
    seconds = time.process_time() - begun
    return EngineRun(sensors, len(states), each, publications, results, seconds)


def _routes(topics: list[str], states: list[OperatorState]) -> list[list[OperatorState]]:
    """What the broker's route cache would answer."""
    by_room: dict[str, list[OperatorState]] = {}
    for topic in topics:
        room = topic.partition("/")[0]
        if room not in by_room:
            by_room[room] = [state for state in states if matches(state.plan.filter, topic)]
    return [by_room[topic.partition("/")[0]] for topic in topics]
