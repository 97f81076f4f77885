"""The table of attacks: what strangers can fill or keep busy, one round of each.

The shapes are those that `tests/attacks` holds against the allocator; here they come through real
sockets, round after round, each with names that were not there before.
"""

import os
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from gossamer.wire.codec import encode
from gossamer.wire.packets import V5, V311, Connect, Publish, Request, Subscribe, Unsubscribe, Will
from gossamer.wire.properties import Properties
from gossamer_lab.bench.attacks.attackers import Attacker, Attackers

Attack = Callable[[Attackers], object]

LOWER_PRIORITY: Final = 10  # they share a core with the bystander, whose turn must come first
FOREVER: Final = 0xFFFFFFFF
LONG: Final = "x" * 60_000
LARGE: Final = b"x" * 50_000
SOME: Final = 20  # packets of 60 KB in one round, or clients that come and go
MANY: Final = 500  # small packets in one round
PROPERTIES: Final = [(f"{pair}", "x" * 300) for pair in range(100)]
AREAS: Final = [("gpl_circleStatic", f"{number};km;1;43.7;10.4;5") for number in range(90)]
WHOLE: Final = encode(Publish("t", b"x" * 200_000), V5)
WHOLE_LOGIN: Final = encode(Connect("c", V311, will=Will("t", LARGE, 0, False)), V311)


def _user(pairs: list[tuple[str, str]]) -> Properties:
    properties = Properties()
    properties.user = pairs
    return properties


def retain(
    attackers: Attackers, payload: bytes, count: int, user: list[tuple[str, str]] | None = None
) -> None:
    client = attackers.client()
    for packet_id in range(1, count + 1):
        topic = f"retained/{attackers.next()}"
        client.send(Publish(topic, payload, 1, True, False, packet_id, _user(user or [])))


def come_and_go(attackers: Attackers, **options: Any) -> None:
    for _ in range(SOME):
        attackers.leave(attackers.client(clean=False, **options))


def subscribe(
    attackers: Attackers, filter: str, each: int = 1, user: list[tuple[str, str]] | None = None
) -> None:
    """So many filters in a packet, each with a number of its own."""
    client = attackers.client()
    for _ in range(SOME):
        client.subscribe(*(filter.format(attackers.next()) for _ in range(each)), user=user)


def topics_once(attackers: Attackers) -> None:
    client = attackers.client()
    for _ in range(SOME):
        client.send(Publish(f"{attackers.next()}/{LONG}", b""))


def aliases(attackers: Attackers) -> None:
    client = attackers.client()
    for alias in range(1, SOME):
        properties = Properties()
        properties.topic_alias = alias
        client.send(Publish(f"{attackers.next()}/{LONG}", b"", properties=properties))


def retained_wills(attackers: Attackers) -> None:
    for _ in range(SOME):
        will = Will(f"will/{attackers.next()}", LARGE, 0, True)
        attackers.leave(attackers.client(will=will))


def wills_that_wait(attackers: Attackers) -> None:
    for _ in range(SOME):
        properties = Properties()
        properties.will_delay = 9_000_000
        will = Will(f"will/{attackers.next()}", LARGE, 0, False, properties)
        attackers.leave(attackers.client(expiry=FOREVER, clean=False, will=will))


def long_client_ids(attackers: Attackers) -> None:
    for _ in range(SOME):
        attackers.leave(attackers.client(f"{attackers.next()}{LONG}", expiry=FOREVER, clean=False))


def subscribe_much(attackers: Attackers) -> None:
    """Tens of thousands of filters in one packet, and the same to get rid of them."""
    filters = [f"much/{attackers.next()}" for _ in range(20_000)]
    attackers.client().send(
        Subscribe(1, [Request(one, 0) for one in filters]), Unsubscribe(2, filters)
    )


def subscriptions_deep(attackers: Attackers) -> None:
    """Two filters that part at their last level need a node for every level before."""
    client = attackers.client()
    for _ in range(SOME):
        deep = f"{attackers.next()}" + "/x" * 150
        client.subscribe(deep + "/a", deep + "/b")


def subscribe_repeated(attackers: Attackers) -> None:
    """One filter again and again in one packet, beside retained messages that it matches."""
    if not attackers.number:
        retain(attackers, b"x" * 1000, 100)
    attackers.client().send(Subscribe(1, [Request("retained/#", 0)] * 5_000))


def operator_lists(attackers: Attackers) -> None:
    """Lists at both ends of a deep filter: every name of the first needs a chain of nodes."""
    names = ";".join(f"n{name}" for name in range(1_000))
    client = attackers.client()
    client.subscribe(f"$AVG/{attackers.next()};{names}" + "/x" * 180 + "/a;b")


def operator_values(attackers: Attackers) -> None:
    """Values of ever new topics, for windows and last values that keep one of each."""
    client = attackers.client()
    client.subscribe("$AVG/v/#", "$HOURLYP95/v/#", "$GT;0/v/#")
    for _ in range(MANY):
        client.send(Publish(f"v/{attackers.next()}", b"7"))


def _comb(teeth: int, *, facing: bool) -> list[tuple[str, str]]:
    """A polygon like a comb. One that faces it fits between its teeth without touching."""
    side = 0.4
    corners: list[tuple[float, float]] = []
    for tooth in range(teeth):
        left = (tooth + (0.5 if facing else 0.0)) / (teeth + 1) * side
        right = left + 0.4 / (teeth + 1) * side
        corners += [(0.0, left), (1.0, left), (1.0, right), (0.0, right)]
    corners += [(-0.1, side), (-0.1, 0.0)]
    listed = ";".join(f"{(0.95 - up if facing else up) * side!r};{east!r}" for up, east in corners)
    return [("gpl_polygonStatic", f"1;m;1;{listed}")]


COMB: Final = _comb(240, facing=False)
FACING_COMB: Final = _comb(240, facing=True)


def geo_combs(attackers: Attackers) -> None:
    """Areas in publications that fit between the teeth of a subscription's area."""
    client = attackers.client()
    client.subscribe("comb", user=FACING_COMB)
    for _ in range(SOME):
        client.send(Publish("comb", b"x", properties=_user(COMB)))


def geo_visitors(attackers: Attackers) -> None:
    client = attackers.client()
    fence = [("gpl_circleStatic", "1;km;1;43.72;10.40;5"), ("gpl_events", "enter,exit,dwell")]
    client.subscribe("visit/#", user=fence)
    for _ in range(MANY):
        position = _user([("gpl_current_pos", "43.72;10.40")])
        client.send(Publish(f"visit/{attackers.next()}", b"x", properties=position))


def qos_2_never_released(attackers: Attackers) -> None:
    client = attackers.client(version=V311, clean=False)
    client.send(*(Publish("t", b"", 2, False, False, packet_id) for packet_id in range(1, 2_000)))


def _flood(writer: Attacker, qos: int) -> None:
    for packet_id in range(1, SOME):
        writer.send(Publish("flood", LARGE, qos, False, False, packet_id))


def inflight_never_acknowledged(attackers: Attackers) -> None:
    """A subscriber that takes everything and acknowledges nothing, and one who writes to it."""
    attackers.client(expiry=FOREVER, clean=False).subscribe("flood", qos=1)
    _flood(attackers.client(), 1)


def slow_reader(attackers: Attackers) -> None:
    attackers.client(reads=False).subscribe("flood")
    _flood(attackers.client(), 0)


def flood(attackers: Attackers) -> None:
    """Small publications that nobody wants, as fast as they can be sent."""
    client = attackers.client()
    burst = b"".join([encode(Publish("nobody", b"x" * 64), V5)] * 1_000)
    for _ in range(MANY):
        client.send_bytes(burst)


ATTACKS: Final[dict[str, Attack]] = {
    "topics of 64 KiB, once each": topics_once,
    "aliases of maximum size": aliases,
    "retained, many": partial(retain, payload=b"x", count=MANY),
    "retained, large": partial(retain, payload=LARGE, count=SOME),
    "retained, empty": partial(retain, payload=b"", count=MANY),
    "retained, user properties": partial(retain, payload=b"x", count=SOME, user=PROPERTIES),
    "retained wills": retained_wills,
    "wills that wait": wills_that_wait,
    "random client ids with sessions": partial(come_and_go, expiry=FOREVER),
    "sessions of 3.1.1": partial(come_and_go, version=V311),
    "client ids of 64 KiB": long_client_ids,
    "subscriptions, many": partial(subscribe, filter="many/{}", each=100),
    "subscriptions, in one packet": subscribe_much,
    "subscriptions, long": partial(subscribe, filter="{}/" + LONG),
    "subscriptions, deep": subscriptions_deep,
    "SUBSCRIBE repeated": subscribe_repeated,
    "shared groups": partial(subscribe, filter="$share/{}/news", each=50),
    "operators, many": partial(subscribe, filter="$AVG/{}/value", each=20),
    "operator lists": operator_lists,
    "values of operators": operator_values,
    "geo areas, many": partial(subscribe, filter="area/{}", user=AREAS),
    "geo combs": geo_combs,
    "visitors of geo areas": geo_visitors,
    "QoS 2 never released": qos_2_never_released,
    "in flight, never acknowledged": inflight_never_acknowledged,
    "slow reader": slow_reader,
    "partial packets": lambda attackers: attackers.client().send_bytes(WHOLE[:190_000]),
    "partial logins": lambda attackers: attackers.open(V311).send_bytes(WHOLE_LOGIN[:49_000]),
    "wrong passwords": lambda attackers: attackers.client(login=("ann", b"wrong")),
    "connect flood": lambda attackers: attackers.leave(attackers.client()),
    "connections that say nothing": lambda attackers: attackers.open(),
    "publications that nobody wants": flood,
}


def attackers(started: Callable[[], None], name: str, address: tuple[str, int]) -> None:
    """Attacks for ever."""
    os.nice(LOWER_PRIORITY)
    clients = Attackers(address)
    started()
    while True:
        ATTACKS[name](clients)
