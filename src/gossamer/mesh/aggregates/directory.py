"""Which brokers want which aggregates computed together, and which can: everybody knows it of all.

Both travel like retained messages, so they reach those who join later, heal after partitions and
outlive restarts. A broker says that it counts as soon as anybody wants a window, and with it the
life in which it said so: one that came back as a version that does not is known by the life that it
announces its links in. Until it had the time to say so, it is taken for one that counts.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from gossamer.broker.delivery import publish
from gossamer.broker.mesh_port import SHARED_TOPICS
from gossamer.broker.subscription_tree import Tap
from gossamer.mesh.directed.message import Fields
from gossamer.mesh.json_fields import JsonFields, read_fields
from gossamer.mesh.settings import VALUES, WINDOWS
from gossamer.mesh.tree.spanning_tree import LIFE_BYTES, TOPOLOGY
from gossamer.plus.engine import read_key
from gossamer.plus.grammar import parse
from gossamer.plus.operators.kinds import AggregateKind, Options
from gossamer.plus.operators.windows import MAX_SECONDS, MIN_SECONDS, Window
from gossamer.plus.plan import OperatorPlan
from gossamer.plus.registry import AGGREGATES
from gossamer.plus.values import INFINITY
from gossamer.plus.vocabulary import Vocabulary
from gossamer.session.message import Message
from gossamer.session.session import Session
from gossamer.wire.errors import ProtocolError

if TYPE_CHECKING:
    from gossamer.mesh.mesh import Mesh
    from gossamer.plus.engine import Engine

_WANTED: Final = SHARED_TOPICS + "windows/"
_BROKERS: Final = SHARED_TOPICS + "brokers/"
# So long after it was first seen, a broker that did not say that it counts does not.
DOUBT_SECONDS: Final = 5.0
_MOST_ABILITIES: Final = 100
_NAME_BYTES: Final = 16
_ABILITIES: Final = frozenset((WINDOWS, VALUES))
_MOST_LIFE: Final = (1 << 8 * LIFE_BYTES) - 1
# A day is as long as a subscriber may wait between two results.
MOST_EVERY_SECONDS: Final = 86_400.0
_NO_WINDOWS: Final = Vocabulary(windows=())


class Wanted:
    """An aggregate that somebody subscribed to, as all brokers know it. `brokers` want it, and the
    life in which each said so is with it."""

    __slots__ = ("brokers", "key", "name", "options", "plan", "seconds")

    def __init__(self, key: str, plan: OperatorPlan, options: Options, seconds: float) -> None:
        self.key = key
        self.plan = plan
        self.options = options
        self.seconds = seconds
        self.name = window_name(key, seconds)
        self.brokers: dict[str, int] = {}

    def said(self) -> Fields:
        """What others are told of it."""
        raise NotImplementedError


class WantedWindow(Wanted):
    """One over time; `seconds` is the length of its windows."""

    __slots__ = ("function",)

    def __init__(self, key: str, plan: OperatorPlan, options: Options, window: Window) -> None:
        super().__init__(key, plan, options, window.seconds)
        temporal = plan.temporal
        assert temporal is not None
        self.function: AggregateKind = AGGREGATES[temporal.function]

    def said(self) -> Fields:
        temporal = self.plan.temporal
        assert temporal is not None
        return {"key": self.key, "window": temporal.window.keyword, "seconds": self.seconds}


class WantedValues(Wanted):
    """One over topics; they are told every so many `seconds`, where something has changed."""

    def said(self) -> Fields:
        return {"key": self.key, "every": self.seconds}


def window_name(key: str, seconds: float) -> str:
    """Two brokers may mean another length by one name: those are two."""
    told = f"{seconds!r} {key}".encode()
    return blake2b(told, digest_size=_NAME_BYTES).hexdigest()


def wanted_window(engine: Engine, key: str, keyword: str, seconds: float) -> WantedWindow:
    """ValueError if brokers cannot count that together."""
    window = Window(keyword, seconds)
    filter, options = read_key(key)
    plan = parse(filter, Vocabulary([window]))  # the window need not be configured here
    temporal = plan.temporal
    if (
        temporal is None
        or plan.processor is not None
        or plan.has_steps()
        or engine.key(plan, options) != key
        or any(read.startswith("$") for read in plan.reads)
    ):
        raise ValueError("no aggregate over time of what clients publish")
    return WantedWindow(key, plan, options, window)


def wanted_values(engine: Engine, key: str, seconds: float) -> WantedValues:
    """ValueError if brokers cannot tell each other what that is of."""
    filter, options = read_key(key)
    plan = parse(filter, _NO_WINDOWS)
    if (
        plan.spatial is None
        or plan.temporal is not None
        or plan.processor is not None
        or plan.has_steps()
        or engine.key(plan, options) != key
        or any(read.startswith("$") for read in plan.reads)
    ):
        raise ValueError("no aggregate over topics of what clients publish")
    return WantedValues(key, plan, options, seconds)


class WindowDirectory(Tap):
    """`changes` grows with each news; `touched` has the windows whose wanting brokers changed."""

    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        self._core = mesh.core
        self._name = mesh.settings.name
        self.wanted: dict[str, Wanted] = {}  # by name
        self.touched: dict[str, None] = {}
        self.changes = 0
        self._lives: dict[str, int] = {}  # of the brokers that count
        self._abilities: dict[str, list[str]] = {}  # theirs
        self._doubts: dict[str, tuple[int, float]] = {}  # the life, and since when
        self._told_life = 0
        self._is_loading = False
        self._untold: dict[str, None] = {}  # windows that this broker wants, or does not any more
        for prefix in (_WANTED, _BROKERS):
            self._core.routes.add_tap(prefix + "#", self)

    def load(self, now: float) -> None:
        """What the store kept. What this broker wanted it still wants, for a while."""
        self._is_loading = True
        for prefix in (_WANTED, _BROKERS):
            for message in self._core.shared.search(prefix + "#", now):
                self._enter(message.topic, message.payload)
        self._is_loading = False

    # Brokers ------------------------------------------------------------------------------------

    def counts(self, broker: str, now: float, ability: str = WINDOWS) -> bool:
        """Whether it counts what its clients publish; this one does. A neighbour has told it
        with the connection."""
        if broker == self._name:
            return True
        link = self._mesh.by_name.get(broker)
        if link is not None and link.connection is not None:
            return ability in link.can
        if broker in self._abilities and ability not in self._abilities[broker]:
            return False
        announced = self._mesh.gossip.last_item(broker, TOPOLOGY) or b""
        life = int.from_bytes(announced[:LIFE_BYTES], "big")
        if life <= self._lives.get(broker, -1):
            self._doubts.pop(broker, None)
            return True
        doubted, since = self._doubts.get(broker, (-1, now))
        if doubted != life:
            self._doubts[broker] = (life, now)
            since = now
        return now - since < DOUBT_SECONDS

    def next_look(self, now: float) -> float:
        """When an answer of `counts` will be another one, if nothing is said before."""
        ends = [since + DOUBT_SECONDS for _, since in self._doubts.values()]
        return min([end for end in ends if end > now], default=INFINITY)

    def brokers(self) -> set[str]:
        """All that are known: those that said it, and those in the tree."""
        return {self._name, *self._lives, *self._mesh.tree_links.view.tree}

    # This broker's own --------------------------------------------------------------------------

    def want(self, wanted: Wanted) -> Wanted:
        """From now on, here; the others are told at the end of the turn. And again in each life: by
        that they know that what they told an earlier one may be lost."""
        known = self.wanted.setdefault(wanted.name, wanted)
        life = self._mesh.gossip.life
        if known.brokers.get(self._name) != life:
            self._set(known, self._name, life)
            self._untold[known.name] = None
        return known

    def want_no_more(self, name: str) -> None:
        known = self.wanted.get(name)
        if known is not None and self._name in known.brokers:
            self._drop(known, self._name)
            self._untold[name] = None

    def end_turn(self, now: float) -> None:
        life = self._mesh.gossip.life
        if self.wanted and life != self._told_life:
            self._told_life = life
            said = {"life": life, "can": sorted(self._mesh.settings.capabilities & _ABILITIES)}
            self._tell(_BROKERS + self._name, json.dumps(said), now)
        untold = list(self._untold)
        self._untold.clear()
        for name in untold:
            known = self.wanted.get(name)
            text = ""
            if known is not None and self._name in known.brokers:
                text = json.dumps({**known.said(), "life": known.brokers[self._name]})
            self._tell(f"{_WANTED}{self._name}/{name}", text, now)

    def forget(self, broker: str, now: float) -> None:
        """That broker will not come back."""
        for known in list(self.wanted.values()):
            if broker in known.brokers:
                self._tell(f"{_WANTED}{broker}/{known.name}", "", now)
        if broker in self._lives:
            self._tell(_BROKERS + broker, "", now)

    def _tell(self, topic: str, text: str, now: float) -> None:
        message = Message(topic, text.encode(), 1, True, None, 0.0, "", "")
        publish(self._core, message, None, now)

    # News ---------------------------------------------------------------------------------------

    def take(self, message: Message, origin: Session | None, now: float) -> None:
        """What is kept decides, since this may be old."""
        kept = self._core.shared.search(message.topic, now)
        self._enter(message.topic, kept[0].payload if kept else b"")

    def _enter(self, topic: str, payload: bytes) -> None:
        """What does not say what it should may be of a later version: it says nothing here."""
        if topic.startswith(_BROKERS):
            self._enter_broker(topic[len(_BROKERS) :], payload)
            return
        broker, _, name = topic[len(_WANTED) :].partition("/")
        known = self.wanted.get(name)
        if not payload:
            if known is not None and broker in known.brokers and broker != self._name:
                self._drop(known, broker)
            return
        try:
            said = read_fields(payload, "a wanted aggregate")
            # Earlier ones did not say in which life they said it.
            life = said.number("life", 0, _MOST_LIFE) if "life" in said.fields else 0
            if known is None:
                known = self._read_wanted(said)
        except (ProtocolError, ValueError):
            return
        if known.name != name or known.brokers.get(broker) == life:
            return
        if broker == self._name and not self._is_loading:
            self._untold[name] = None  # of an earlier life, and not wanted any more
            return
        self.wanted[name] = known
        self._set(known, broker, life)

    def _read_wanted(self, said: JsonFields) -> Wanted:
        """ProtocolError or ValueError for what is none."""
        engine = self._core.operators.engine
        if "every" in said.fields:
            seconds = said.real("every", 0.0, MOST_EVERY_SECONDS)
            return wanted_values(engine, said.text("key"), seconds)
        seconds = said.real("seconds", MIN_SECONDS, MAX_SECONDS)
        return wanted_window(engine, said.text("key"), said.text("window"), seconds)

    def _enter_broker(self, broker: str, payload: bytes) -> None:
        self.changes += 1
        self._lives.pop(broker, None)
        self._abilities.pop(broker, None)
        if not payload:
            return
        try:
            said = read_fields(payload, "a broker's abilities")
            life = said.number("life", 0, _MOST_LIFE)
            abilities = said.texts("can", _MOST_ABILITIES)
            if WINDOWS in abilities:
                self._lives[broker] = life
                self._abilities[broker] = [each for each in abilities if each in _ABILITIES]
        except ProtocolError:
            return

    def _set(self, known: Wanted, broker: str, life: int) -> None:
        self.changes += 1
        self.touched[known.name] = None
        known.brokers[broker] = life

    def _drop(self, known: Wanted, broker: str) -> None:
        self.changes += 1
        self.touched[known.name] = None
        del known.brokers[broker]
        if not known.brokers:
            del self.wanted[known.name]
