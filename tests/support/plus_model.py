"""The operators once more, naively: every answer is computed again from all that was published."""

import math
from collections.abc import Callable
from fractions import Fraction

from gossamer.plus.plan import OperatorPlan, RuleNode
from gossamer.plus.values import read_number
from tests.support.plus import Delivery

IMPLICIT_TTL = 3_600.0


class Published:
    def __init__(self, topic: str, value: float, valid_until: float) -> None:
        self.topic = topic
        self.value = value
        self.valid_until = valid_until
        self.expired = False


def percentile(values: list[float], percent: int) -> float:
    ordered = sorted(values)
    return ordered[math.ceil(len(ordered) * percent / 100) - 1]


def median(values: list[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return ordered[middle - 1] / 2 + ordered[middle] / 2


def deviation(values: list[float]) -> float:
    exact = [Fraction(value) for value in values]
    mean = sum(exact) / len(exact)
    variance = sum((value - mean) ** 2 for value in exact) / len(exact)
    # In integers: the variance of ordinary doubles may be beyond them.
    return float(Fraction(math.isqrt(int(variance * 4**1200)), 2**1200))


def total(values: list[float]) -> float:
    return float(sum(Fraction(value) for value in values))


def average(values: list[float]) -> float:
    return float(sum(Fraction(value) for value in values) / len(values))


FUNCTIONS: dict[str, Callable[[list[float]], float]] = {
    "COUNT": lambda values: float(len(values)),
    "SUM": total,
    "AVG": average,
    "MIN": min,
    "MAX": max,
    "STDDEV": deviation,
    "MEDIAN": median,
    "P95": lambda values: percentile(values, 95),
    "FIRST": lambda values: values[0],
    "LAST": lambda values: values[-1],
}
COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "EQ": lambda a, b: a == b,
    "NEQ": lambda a, b: a != b,
    "GT": lambda a, b: a > b,
    "GTE": lambda a, b: a >= b,
    "LT": lambda a, b: a < b,
    "LTE": lambda a, b: a <= b,
}


def admits(rules: tuple[RuleNode, ...], value: float) -> bool:
    return all(
        rule.number is not None and COMPARISONS[rule.keyword](value, rule.number) for rule in rules
    )


def written(function: str, value: float) -> str:
    return str(int(value)) if function == "COUNT" else repr(value)


class Model:
    """One subscription with an aggregate in it, replying with single keywords or participants."""

    def __init__(self, plan: OperatorPlan, names_participants: bool, every: float) -> None:
        self.plan = plan
        self.names_participants = names_participants
        self.every = every
        self.history: list[Published] = []
        self.window: list[Published] = []
        self.start = 0.0
        self.sent_at = -math.inf
        self.owed_at = math.inf

    def publish(self, topic: str, payload: str, valid_until: float, now: float) -> list[Delivery]:
        if self.plan.temporal is None:
            self.expire(now)
        value = read_number(payload.encode())
        if not math.isfinite(value):
            return []
        published = Published(topic, value, valid_until)
        if self.plan.temporal is not None:
            return self.publish_in_window(published, now)
        took_part = any(one.topic == topic for one in self.taking_part())
        self.history.append(published)
        self.expire(now)
        takes_part = any(one.topic == topic for one in self.taking_part())
        if not (takes_part or took_part):
            return []
        if self.every:
            if self.owed_at < math.inf:
                return []
            if self.sent_at <= now < self.sent_at + self.every:
                self.owed_at = self.sent_at + self.every
                return []
            self.sent_at = now
        return self.spatial_result(self.taking_part())

    def step(self, now: float, set_back: bool) -> list[Delivery]:
        temporal = self.plan.temporal
        if temporal is None:
            return self.step_owed(now, set_back)
        if set_back and now < self.start:
            self.start = temporal.window.start(now)
        if self.window and now >= self.start + temporal.window.seconds:
            return self.end_window()
        return []

    def step_owed(self, now: float, set_back: bool) -> list[Delivery]:
        if set_back:
            self.sent_at = min(self.sent_at, now)
            if self.owed_at < math.inf:
                self.owed_at = min(self.owed_at, now + self.every)
        if now < self.owed_at:
            return []
        self.owed_at = math.inf
        self.sent_at = now
        self.expire(now)
        return self.spatial_result(self.taking_part())

    def restart(self) -> None:
        self.sent_at = -math.inf
        self.owed_at = math.inf

    def expire(self, now: float) -> None:
        for one in self.history:
            one.expired = one.expired or one.valid_until <= now

    def taking_part(self) -> list[Published]:
        last = {one.topic: one for one in self.history}
        valid = [one for one in self.history if last[one.topic] is one and not one.expired]
        return [one for one in valid if admits(self.plan.inner, one.value)]

    def publish_in_window(self, published: Published, now: float) -> list[Delivery]:
        temporal = self.plan.temporal
        assert temporal is not None
        results: list[Delivery] = []
        if self.window and now >= self.start + temporal.window.seconds:
            results = self.end_window()
        if not self.window or now < self.start:
            self.start = temporal.window.start(now)
        self.window.append(published)
        return results

    def end_window(self) -> list[Delivery]:
        temporal = self.plan.temporal
        assert temporal is not None
        ended, self.window = self.window, []
        values: dict[str, list[float]] = {}
        for one in ended:
            values.setdefault(one.topic, []).append(one.value)
        results = [
            Published(topic, FUNCTIONS[temporal.function](numbers), math.inf)
            for topic, numbers in sorted(values.items())
        ]
        if self.plan.spatial is not None:
            return self.spatial_result(
                [one for one in results if admits(self.plan.inner, one.value)]
            )
        return [
            (f"{self.plan.chain}/{one.topic}", written(temporal.function, one.value))
            for one in results
            if admits(self.plan.outer, one.value)
        ]

    def spatial_result(self, taking_part: list[Published]) -> list[Delivery]:
        spatial = self.plan.spatial
        assert spatial is not None
        if not taking_part:
            return []
        value = FUNCTIONS[spatial.function]([one.value for one in taking_part])
        if not admits(self.plan.outer, value):
            return []
        levels = self.plan.filter.split("/")
        for at, level in enumerate(levels):
            if level == "+":
                names = {one.topic.split("/")[at] for one in taking_part}
                levels[at] = ";".join(sorted(names)) if self.names_participants else "$AGGREGATE"
        return [("/".join([self.plan.chain, *levels]), written(spatial.function, value))]
