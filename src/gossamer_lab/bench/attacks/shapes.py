"""The table of attacks: what strangers can fill or keep busy, one round of each.

The shapes are those that `tests/attacks` holds against the allocator; here they come through real
sockets, round after round, each with names that were not there before.
"""

from collections.abc import Callable
from typing import Final

from gossamer.wire.codec import encode
from gossamer.wire.packets import V5, V311, Connect, Publish, Request, Subscribe, Unsubscribe, Will
from gossamer.wire.properties import Properties
from gossamer_lab.bench.attacks.siege import Attacker, Siege

Attack = Callable[[Siege], None]

FOREVER: Final = 0xFFFFFFFF
LONG: Final = "x" * 60_000
LARGE: Final = b"x" * 50_000
SOME: Final = 20  # packets of 60 KB in one round, or clients that come and go
MANY: Final = 500  # small packets in one round


def _user(pairs: list[tuple[str, str]]) -> Properties:
    properties = Properties()
    properties.user = pairs
    return properties


def _retain(siege: Siege, payload: bytes, count: int, user: list[tuple[str, str]]) -> None:
    client = siege.client()
    for packet_id in range(1, count + 1):
        topic = f"retained/{siege.next()}"
        client.send(Publish(topic, payload, 1, True, False, packet_id, _user(user)))


def topics_once(siege: Siege) -> None:
    client = siege.client()
    for _ in range(SOME):
        client.send(Publish(f"{siege.next()}/{LONG}", b""))


def aliases(siege: Siege) -> None:
    client = siege.client()
    for alias in range(1, SOME):
        properties = Properties()
        properties.topic_alias = alias
        client.send(Publish(f"{siege.next()}/{LONG}", b"", properties=properties))


def retained_many(siege: Siege) -> None:
    _retain(siege, b"x", MANY, [])


def retained_large(siege: Siege) -> None:
    _retain(siege, LARGE, SOME, [])


def retained_empty(siege: Siege) -> None:
    _retain(siege, b"", MANY, [])


def user_properties(siege: Siege) -> None:
    _retain(siege, b"x", SOME, [(f"{pair}", "x" * 300) for pair in range(100)])


def retained_wills(siege: Siege) -> None:
    for _ in range(SOME):
        will = Will(f"will/{siege.next()}", LARGE, 0, True)
        siege.leave(siege.client(will=will))


def wills_that_wait(siege: Siege) -> None:
    for _ in range(SOME):
        properties = Properties()
        properties.will_delay = 9_000_000
        will = Will(f"will/{siege.next()}", LARGE, 0, False, properties)
        siege.leave(siege.client(expiry=FOREVER, clean=False, will=will))


def sessions(siege: Siege) -> None:
    for _ in range(SOME):
        siege.leave(siege.client(expiry=FOREVER, clean=False))


def sessions_311(siege: Siege) -> None:
    for _ in range(SOME):
        siege.leave(siege.client(version=V311, clean=False))


def long_client_ids(siege: Siege) -> None:
    for _ in range(SOME):
        siege.leave(siege.client(f"{siege.next()}{LONG}", expiry=FOREVER, clean=False))


def subscriptions_many(siege: Siege) -> None:
    client = siege.client()
    for _ in range(SOME):
        client.subscribe(*(f"many/{siege.next()}" for _ in range(100)))


def subscribe_much(siege: Siege) -> None:
    """Tens of thousands of filters in one packet, and the same to get rid of them."""
    filters = [f"much/{siege.next()}" for _ in range(20_000)]
    siege.client().send(Subscribe(1, [Request(one, 0) for one in filters]), Unsubscribe(2, filters))


def subscriptions_long(siege: Siege) -> None:
    client = siege.client()
    for _ in range(SOME):
        client.subscribe(f"{siege.next()}/{LONG}")


def subscriptions_deep(siege: Siege) -> None:
    """Two filters that part at their last level need a node for every level before."""
    client = siege.client()
    for _ in range(SOME):
        deep = f"{siege.next()}" + "/x" * 150
        client.subscribe(deep + "/a", deep + "/b")


def subscribe_repeated(siege: Siege) -> None:
    """One filter again and again in one packet, beside retained messages that it matches."""
    if not siege.number:
        _retain(siege, b"x" * 1000, 100, [])
    siege.client().send(Subscribe(1, [Request("retained/#", 0)] * 5_000))


def shared_groups(siege: Siege) -> None:
    client = siege.client()
    for _ in range(SOME):
        client.subscribe(*(f"$share/{siege.next()}/news" for _ in range(50)))


def operators_many(siege: Siege) -> None:
    client = siege.client()
    for _ in range(SOME):
        client.subscribe(*(f"$AVG/{siege.next()}/value" for _ in range(20)))


def operator_lists(siege: Siege) -> None:
    """Lists at both ends of a deep filter: every name of the first needs a chain of nodes."""
    names = ";".join(f"n{name}" for name in range(1_000))
    client = siege.client()
    client.subscribe(f"$AVG/{siege.next()};{names}" + "/x" * 180 + "/a;b")


def operator_values(siege: Siege) -> None:
    """Values of ever new topics, for windows and last values that keep one of each."""
    client = siege.client()
    client.subscribe("$AVG/v/#", "$HOURLYP95/v/#", "$GT;0/v/#")
    for _ in range(MANY):
        client.send(Publish(f"v/{siege.next()}", b"7"))


AREAS: Final = [("gpl_circleStatic", f"{number};km;1;43.7;10.4;5") for number in range(90)]


def geo_areas(siege: Siege) -> None:
    client = siege.client()
    for _ in range(SOME):
        client.subscribe(f"area/{siege.next()}", user=AREAS)


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


def geo_combs(siege: Siege) -> None:
    """Areas in publications that fit between the teeth of a subscription's area."""
    client = siege.client()
    client.subscribe("comb", user=FACING_COMB)
    for _ in range(SOME):
        client.send(Publish("comb", b"x", properties=_user(COMB)))


def geo_visitors(siege: Siege) -> None:
    client = siege.client()
    fence = [("gpl_circleStatic", "1;km;1;43.72;10.40;5"), ("gpl_events", "enter,exit,dwell")]
    client.subscribe("visit/#", user=fence)
    for _ in range(MANY):
        position = _user([("gpl_current_pos", "43.72;10.40")])
        client.send(Publish(f"visit/{siege.next()}", b"x", properties=position))


def qos_2_never_released(siege: Siege) -> None:
    client = siege.client(version=V311, clean=False)
    client.send(*(Publish("t", b"", 2, False, False, packet_id) for packet_id in range(1, 2_000)))


def _flood(writer: Attacker, qos: int) -> None:
    for packet_id in range(1, SOME):
        writer.send(Publish("flood", LARGE, qos, False, False, packet_id))


def inflight_never_acknowledged(siege: Siege) -> None:
    """A subscriber that takes everything and acknowledges nothing, and one who writes to it."""
    siege.client(expiry=FOREVER, clean=False).subscribe("flood", qos=1)
    _flood(siege.client(), 1)


def slow_reader(siege: Siege) -> None:
    siege.client(reads=False).subscribe("flood")
    _flood(siege.client(), 0)


WHOLE: Final = encode(Publish("t", b"x" * 200_000), V5)
WHOLE_LOGIN: Final = encode(Connect("c", V311, will=Will("t", LARGE, 0, False)), V311)


def partial_packets(siege: Siege) -> None:
    siege.client().send_bytes(WHOLE[:190_000])


def partial_logins(siege: Siege) -> None:
    siege.open(V311).send_bytes(WHOLE_LOGIN[:49_000])


def wrong_passwords(siege: Siege) -> None:
    siege.client(login=("ann", b"wrong"))


def connect_flood(siege: Siege) -> None:
    siege.leave(siege.client())


def silent_connections(siege: Siege) -> None:
    siege.open()


def flood(siege: Siege) -> None:
    """Small publications that nobody wants, as fast as they can be sent."""
    client = siege.client()
    burst = b"".join([encode(Publish("nobody", b"x" * 64), V5)] * 1_000)
    for _ in range(MANY):
        client.send_bytes(burst)


ATTACKS: Final[dict[str, Attack]] = {
    "topics of 64 KiB, once each": topics_once,
    "aliases of maximum size": aliases,
    "retained, many": retained_many,
    "retained, large": retained_large,
    "retained, empty": retained_empty,
    "retained, user properties": user_properties,
    "retained wills": retained_wills,
    "wills that wait": wills_that_wait,
    "random client ids with sessions": sessions,
    "sessions of 3.1.1": sessions_311,
    "client ids of 64 KiB": long_client_ids,
    "subscriptions, many": subscriptions_many,
    "subscriptions, in one packet": subscribe_much,
    "subscriptions, long": subscriptions_long,
    "subscriptions, deep": subscriptions_deep,
    "SUBSCRIBE repeated": subscribe_repeated,
    "shared groups": shared_groups,
    "operators, many": operators_many,
    "operator lists": operator_lists,
    "values of operators": operator_values,
    "geo areas, many": geo_areas,
    "geo combs": geo_combs,
    "visitors of geo areas": geo_visitors,
    "QoS 2 never released": qos_2_never_released,
    "in flight, never acknowledged": inflight_never_acknowledged,
    "slow reader": slow_reader,
    "partial packets": partial_packets,
    "partial logins": partial_logins,
    "wrong passwords": wrong_passwords,
    "connect flood": connect_flood,
    "connections that say nothing": silent_connections,
    "publications that nobody wants": flood,
}
