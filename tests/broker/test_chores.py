"""What is much to undo is undone in steps, and does nothing more from the first moment on."""

from typing import Any

from gossamer.broker.revocation import AT_ONCE
from gossamer.broker.subscriptions import LEFT_AT_ONCE
from gossamer.net.rule_file import RulePermissions, parse_rules
from gossamer.session.subscription import Subscription
from tests.support.memory import World

MANY = 1_000


def divided(world: World) -> World:
    """From now on the test takes the turns."""
    world.broker.divides = True
    return world


def subscribed(world: World, name: str = "many", **options: Any) -> None:
    client = world.client(name, **options)
    assert client.subscribe(*(f"t/{n}" for n in range(MANY)), "$share/g/shared", qos=1)
    client.lose()


def test_a_session_with_many_subscriptions_ends_in_steps() -> None:
    world = World()
    core = world.broker.core
    empty = core.ledger.subscriptions.held
    own = len(core.routes.tree)
    subscribed(world, clean=False, expiry=1_000)
    other = world.client("other")
    other.subscribe("t/5", "$share/g/shared", qos=1)
    session = core.sessions["many"]
    divided(world)
    assert world.broker.disconnect("many", world.now, discard=True)
    assert "many" not in core.sessions
    assert len(core.chores) == 1
    before = len(core.routes.tree)
    writer = world.client("writer")
    steps = 0
    while core.chores:
        writer.publish("t/5", str(steps), qos=1, packet_id=1)
        writer.publish("t/6", "nobody", qos=1, packet_id=2)
        writer.publish("shared", f"drawn {steps}", qos=1, packet_id=3)
        world.broker.go_on(world.now)
        assert before - len(core.routes.tree) <= LEFT_AT_ONCE
        before = len(core.routes.tree)
        steps += 1
    assert steps >= MANY // LEFT_AT_ONCE
    # Nothing was kept for it, and its group lost nothing to it.
    assert session.queued() == session.lane.messages == session.in_flight() == 0
    wanted = [text for step in range(steps) for text in (str(step), f"drawn {step}")]
    assert other.payloads() == wanted
    assert core.counters.subscriptions == 2
    other.disconnect()
    world.broker.divides = False
    world.broker.flush(world.now)
    assert core.ledger.subscriptions.held == empty
    assert len(core.routes.tree) == own


def test_what_ended_is_in_nobodys_way() -> None:
    """A client that begins anew finds the room that its subscriptions had."""
    world = World()
    account = world.broker.core.ledger.subscriptions
    subscribed(world, clean=False, expiry=1_000)
    account.client_most = account.clients["many"] + 1_000
    divided(world)
    client = world.client("many")
    assert len(world.broker.core.chores) == 1
    assert client.subscribe(*(f"t/{n}" for n in range(MANY)), qos=1) == [1] * MANY
    assert client.world.broker.core.counters.subscriptions == MANY


def test_rules_that_changed_hold_at_once_and_are_carried_out_in_steps() -> None:
    world = World()
    core = world.broker.core
    rule(world, "[[rule]]\npublish = ['#']\nsubscribe = ['#']\n")
    for number in range(MANY):
        client = world.client(f"c{number}", clean=False, expiry=1_000)
        client.subscribe("secret/1", "open/1", qos=1)
        client.lose()
    slow = world.client("slow", receive_maximum=1)
    slow.subscribe("secret/1", qos=1)
    writer = world.client("writer")
    for number in range(3):
        writer.publish("secret/1", str(number), qos=1, packet_id=number + 1)
    assert core.sessions["c7"].queued() == 3
    divided(world)
    rule(world, "[[rule]]\npublish = ['#']\nsubscribe = ['open/#']\n")
    assert core.sessions["slow"].queued() == 0  # taken back before anything else is sent
    writer.publish("secret/1", "later", qos=1, packet_id=9)
    assert core.sessions["c999"].queued() == 3
    steps = 0
    while core.chores:
        before = sum(len(session.subscriptions) for session in core.sessions.values())
        world.broker.go_on(world.now)
        after = sum(len(session.subscriptions) for session in core.sessions.values())
        assert before - after <= AT_ONCE
        steps += 1
    assert steps > 10
    for session in core.sessions.values():
        assert session.queued() == 0
        assert "secret/1" not in session.subscriptions
        kinds = {type(one) for one in session.subscriptions.values()}
        assert kinds <= {Subscription}


def rule(world: World, text: str) -> None:
    world.broker.set_permissions(RulePermissions(parse_rules(text)), world.now)
