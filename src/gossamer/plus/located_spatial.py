"""Aggregates over those topics whose last values are in an area, wherever that is now.

Where the area moves or changes, the values outside it are kept as well, and of all values the place
that they are about: a sensor that the area comes to takes part with the value that it has, and one
that the area leaves takes part no more, though neither publishes anything. Of images only those
inside are looked at; the answer counts if the image's place is inside when it comes.
"""

from __future__ import annotations

import json
from typing import Final

from gossamer.geo.earth import Point
from gossamer.geo.geolocation import NOWHERE, Place
from gossamer.plus.limits import topic_bytes
from gossamer.plus.located import AreaTest
from gossamer.plus.plan import OperatorPlan, SpatialNode
from gossamer.plus.publication import TOO_MANY_TOPICS, Publication
from gossamer.plus.spatial import LastValue, LastValues, SpatialState
from gossamer.plus.state import SAVED_VERSION, OperatorResult, Services

# What the place of a value takes: a position, and each point of areas.
_PLACE_BYTES: Final = 320
_POINT_BYTES: Final = 176


class LocatedSpatialState(SpatialState):
    """With a processor, or an area that changes; for any other `SpatialState` and `leave` do."""

    def __init__(
        self,
        key: str,
        plan: OperatorPlan,
        services: Services,
        spatial: SpatialNode,
        names_participants: bool,
        every: float,
        area: AreaTest,
    ) -> None:
        super().__init__(key, plan, services, spatial, names_participants, every)
        self._area = area
        self._outside = LastValues()
        self._places: dict[str, Place] = {}  # of values inside and outside that are about one
        self._to_judge: list[str] = []  # topics, since the area changed
        self._has_changed = False  # who takes part, since then
        self._is_read = False  # the last publication had a value

    def accept_at(
        self, publication: Publication, place: Place | None, now: float
    ) -> list[OperatorResult]:
        """A publication that is about this place. What comes out has passed everything."""
        outermost = self if self.outer is None else self.outer
        topic = publication.topic
        is_image = self.plan.processor is not None
        self._expire(now)  # before there is another place
        if is_image and not self._area.admits(place, now):
            left = self._move_out(topic)
            if left or topic in self._places:  # an earlier image may not have its answer yet
                self._keep_place(topic, place)
            return outermost.of_core(self._send(now) if left else [], now)
        if not self._keep_place(topic, place):
            return outermost.leave(topic, now)
        if is_image:
            return outermost.accept(publication, now)
        self._is_read = False
        results = outermost.enter(publication, now)
        if self._is_read:
            return results
        self._judge_again(topic, now)  # what it had is about this place now
        return results + outermost.of_core(self._send_changed(now), now)

    def area_changed(self) -> None:
        """Who is in it has to be found out again, by `judge`. Those whose turn has not come since
        it changed before come first: an area that never stands still leaves nobody out."""
        waiting = self._to_judge
        if waiting:
            before = set(waiting)
            self._to_judge = [topic for topic in self._places if topic not in before] + waiting
        else:
            self._to_judge = list(self._places)

    def judge(self, most: int, now: float) -> list[OperatorResult]:
        """Of so many topics at most; `is_judged` afterwards if those were the last."""
        self._expire(now)
        for _ in range(min(most, len(self._to_judge))):
            self._judge_again(self._to_judge.pop(), now)
        results = self._send_changed(now)
        return results if self.outer is None else self.outer.of_core(results, now)

    def is_judged(self) -> bool:
        return not self._to_judge

    def part(self, name: str) -> bytes | None:
        """Of values about areas nothing is kept: they count again with their next publication."""
        value = self._last.values.get(name) or self._outside.values.get(name)
        place = self._places.get(name)
        if value is None or (place is not None and place.point is None):
            return None
        at: list[float] = []
        if place is not None and place.point is not None:
            at = [place.point.lat, place.point.lon]
        saved = [SAVED_VERSION, value.value, value.expires_at, value.order, at]
        return json.dumps(saved).encode()

    def restore(self, parts: list[tuple[str, bytes]], now: float) -> None:
        """Who is inside is for `judge` to find out: it may not be known yet where that is."""
        everywhere: list[tuple[str, bytes]] = []
        for topic, part in parts:
            try:
                version, value, expires_at, order, at = json.loads(part)
                if not at:
                    saved = [version, value, expires_at, order]
                    everywhere.append((topic, json.dumps(saved).encode()))
                    continue
                found = LastValue(float(value), float(expires_at), int(order))
                place = Place(Point(float(at[0]), float(at[1])), NOWHERE, None)
                if version != SAVED_VERSION or expires_at <= now:
                    self.mark(topic)
                elif self._keep_place(topic, place):
                    self._put_outside(topic, found)
                    self.changed.discard(topic)
            except (ValueError, TypeError, IndexError):
                self.mark(topic)
        super().restore(everywhere, now)
        orders = [value.order for value in self._outside.values.values()]
        self._order = max([self._order, *orders])
        self.area_changed()

    def _enter_value(
        self, topic: str, value: float, expires_at: float, takes_part: bool, now: float
    ) -> list[OperatorResult]:
        self._is_read = True
        self._leave_outside(topic)
        if not takes_part or self._area.admits(self._places.get(topic), now):
            results = super()._enter_value(topic, value, expires_at, takes_part, now)
            if topic not in self._last.values:
                self._forget_place(topic)
            return results
        left = self._move_out(topic)
        if self._area.changes:
            self._order += 1
            self._put_outside(topic, LastValue(value, expires_at, self._order))
        else:
            self._forget_place(topic)
        return self._send(now) if left else []

    def _send_changed(self, now: float) -> list[OperatorResult]:
        if self._to_judge or not self._has_changed:
            return []
        self._has_changed = False
        return self._send(now)

    def _judge_again(self, topic: str, now: float) -> None:
        is_inside = self._area.admits(self._places.get(topic), now)
        if not is_inside:
            value = self._last.values.get(topic)
            if value is not None and self._move_out(topic):
                self._put_outside(topic, value)
                self._has_changed = True
            return
        value = self._outside.values.get(topic)
        if value is not None:
            self._leave_outside(topic)
            self.weigh(topic_bytes(topic))
            self._last.put(topic, value)
            self._reply.join(topic)
            self._aggregate.add(value.value, value.order)
            self.mark(topic)
            self._has_changed = True

    def _move_out(self, topic: str) -> bool:
        """Whether it took part. Its place is kept."""
        value = self._last.remove(topic)
        if value is not None:
            super()._forget(topic, value)
        return value is not None

    def _put_outside(self, topic: str, value: LastValue) -> None:
        held = len(self._last.values) + len(self._outside.values)
        if held >= self.services.limits.topics:
            self.services.skip(TOO_MANY_TOPICS)
            self._forget_place(topic)
        elif not self.reserve(topic_bytes(topic)):
            self._forget_place(topic)
        else:
            self._outside.put(topic, value)
            self.mark(topic)

    def _leave_outside(self, topic: str) -> None:
        if self._outside.remove(topic) is not None:
            self.weigh(-topic_bytes(topic))
            self.mark(topic)

    def _expire(self, now: float) -> None:
        super()._expire(now)
        for topic, _ in self._outside.take_expired(now):
            self.weigh(-topic_bytes(topic))
            self._forget_place(topic)
            self.mark(topic)

    def _forget(self, topic: str, value: LastValue) -> None:
        super()._forget(topic, value)
        self._forget_place(topic)

    # Places -------------------------------------------------------------------------------------

    def _keep_place(self, topic: str, place: Place | None) -> bool:
        """False if there is no room: then what is said there does not count."""
        self._forget_place(topic)
        if place is None:
            return True
        if not self.reserve(_place_bytes(place)):
            self._leave_outside(topic)
            return False
        self._places[topic] = place
        return True

    def _forget_place(self, topic: str) -> None:
        place = self._places.pop(topic, None)
        if place is not None:
            self.weigh(-_place_bytes(place))


def _place_bytes(place: Place) -> int:
    points = sum([shape.points() for shape in place.region.shapes])
    return _PLACE_BYTES + _POINT_BYTES * points
