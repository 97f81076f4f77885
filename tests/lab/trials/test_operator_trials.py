"""Rules, areas and subscribers that walk in random small meshes, and what their oracle must see."""

import time
from collections.abc import Callable
from random import Random

import pytest

from gossamer.broker.subscriptions import remove_subscription
from gossamer.mesh.settings import MODES
from gossamer.wire.packets import Packet, Publish
from gossamer.wire.properties import Properties
from gossamer_lab.trials.conditions import NOWHERE, Possible, RuleCondition
from gossamer_lab.trials.operator_plan import with_operators
from gossamer_lab.trials.oracle import Oracle
from gossamer_lab.trials.plan import (
    WALK,
    ClientPlan,
    TrialPlan,
    TrialStep,
    make_plan,
    make_roaming_plan,
    read_plan,
)
from gossamer_lab.trials.publications import Entries, PublicationKey, Publications
from gossamer_lab.trials.trial import TrialOutcome, run_trial, run_world
from gossamer_lab.trials.trial_client import TrialClient
from gossamer_lab.trials.world import World

# For the trials of one mode: so many whatever they take, and more while there is time.
LEAST_TRIALS = 8
MOST_TRIALS = 60
MOST_SECONDS = 1.5

TOWN = "43.7200000;10.4000000"
NEAR = "43.7210000;10.4000000"  # 111 metres north
FAR = "44.0000000;10.4000000"
AROUND_ME: Entries = [("gpl_circleDynamic", "1;m;1;500")]
IN_TOWN: Entries = [("gpl_circleStatic", f"1;m;1;{TOWN};500")]
IN_FAR: Entries = [("gpl_circleStatic", f"1;m;1;{FAR};500")]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("make", [make_plan, make_roaming_plan], ids=["settled", "roaming"])
def test_conditions_are_judged_as_by_one_broker(make: Callable[..., TrialPlan], mode: str) -> None:
    end = time.monotonic() + MOST_SECONDS
    kind = " --roaming" if make is make_roaming_plan else ""
    for seed in range(MOST_TRIALS):
        outcome = run_trial(with_operators(make(seed, mode)))
        command = f"gossamer sim torture --first {seed} --seeds 1 --modes {mode}{kind} --operators"
        assert not outcome.faults, command
        if seed >= LEAST_TRIALS and time.monotonic() > end:
            break


def test_they_change_nothing_else_of_a_seed() -> None:
    verbs: set[str] = set()
    for seed in range(20):
        plan, without = with_operators(make_plan(seed)), make_plan(seed)
        for steps, before in zip(plan.rounds, without.rounds, strict=True):
            assert [step for step in steps if step in before] == before
            verbs |= {step.verb for step in steps if step not in before}
    assert verbs == {"subscribe", "publish", "burst", WALK}


def test_a_plan_is_what_its_text_says() -> None:
    plan = with_operators(make_plan(7))
    assert read_plan(plan.as_text()) == plan
    assert plan.walkers


# A mesh that is broken on purpose ----------------------------------------------------------------


def line_of_two(rounds: list[list[TrialStep]]) -> TrialPlan:
    """`c0` at one end publishes, `c1` at the other reads."""
    clients = [ClientPlan(f"c{number}", number, True, -1, False) for number in range(2)]
    return TrialPlan(1, "ssf", 2, [[0, 1]], 0.0, 0.0, 0.002, clients, rounds)


def published(at: float, payload: str, place: str = "") -> TrialStep:
    where = [["gpl_current_pos", place]] if place else []
    return TrialStep(at, "publish", "c0", "t", 2, payloads=[payload], where=where)


RULES = [
    [TrialStep(0.5, "subscribe", "c1", "$GT;30/t", 2)],
    [published(1.0 + number / 10, f"{29 + number}.{{digits}}") for number in range(4)],
]
PLACES = [
    [
        TrialStep(0.3, WALK, "c1", TOWN),
        TrialStep(0.5, "subscribe", "c1", "t", 2, where=[list(each) for each in AROUND_ME]),
    ],
    [published(1.0, "{key}", NEAR), published(1.1, "{key}", FAR), published(1.2, "{key}")],
]


@pytest.mark.parametrize(("rounds", "receipts"), [(RULES, 3), (PLACES, 2)])
def test_what_passes_comes_once(rounds: list[list[TrialStep]], receipts: int) -> None:
    outcome = run_trial(line_of_two(rounds))
    assert outcome.faults == []
    assert outcome.receipts == receipts


class DeafClient(TrialClient):
    """Does not tell the oracle of the second message that it gets."""

    got = 0

    def _see(self, packet: Packet) -> None:
        if isinstance(packet, Publish):
            self.got += 1
            if self.got == 2:
                return
        super()._see(packet)


def run_with_deaf_client(rounds: list[list[TrialStep]]) -> TrialOutcome:
    world = World(line_of_two(rounds))
    world.clients["c1"].__class__ = DeafClient
    return run_world(world)


@pytest.mark.parametrize("rounds", [RULES, PLACES])
def test_a_passing_value_that_is_dropped_is_a_fault(rounds: list[list[TrialStep]]) -> None:
    (fault,) = run_with_deaf_client(rounds).faults
    assert "c1 never got c0:" in fault


@pytest.mark.parametrize(
    ("asked", "meant", "word"),
    [
        ("$GT;30/t", "$GT;29/t", "never got c0:1"),  # 29.0000… passes what was meant
        ("$GT;29/t", "$GT;30/t", "keeps out"),
    ],
)
def test_a_broker_that_judges_by_another_rule_is_found(asked: str, meant: str, word: str) -> None:
    """The oracle believes that something else was asked for."""
    world = World(line_of_two([[TrialStep(0.5, "subscribe", "c1", asked, 2)], RULES[1]]))

    def asking(client: str, filter: str, qos: int, where: Entries) -> None:
        Oracle.asking(world.oracle, client, filter, qos, where)
        condition = RuleCondition(meant)
        condition.prefix = f"{asked.partition('/')[0]}/"
        world.oracle._reader_of(client, filter).condition = condition

    world.oracle.asking = asking  # type: ignore[method-assign]
    faults = run_world(world).faults
    assert faults
    assert all(word in fault for fault in faults)


class NarrowMesh(World):
    """The broker where things are published forgets what is wanted behind its link."""

    def do(self, step: TrialStep) -> None:
        host = self.hosts[0]
        if step.verb == "publish":
            session = host.mesh.by_name["b1"].session
            for interest in list(session.subscriptions):
                remove_subscription(host.broker.core, session, interest)
        super().do(step)


@pytest.mark.parametrize(("rounds", "lost"), [(RULES, 3), (PLACES, 2)])
def test_a_mesh_that_forwards_too_little_is_found(rounds: list[list[TrialStep]], lost: int) -> None:
    faults = run_world(NarrowMesh(line_of_two(rounds))).faults
    assert [fault for fault in faults if "c1 never got c0:" in fault] == faults[:lost]
    assert faults[lost:], "and what the neighbour holds is seen to be wrong"


# The oracle by itself ----------------------------------------------------------------------------


class Reading:
    """`r` has one subscription with a condition since before the round; `w` publishes on `t`."""

    def __init__(self, filter: str, where: Entries | None = None, position: str = NOWHERE) -> None:
        self.oracle = Oracle(["r", "w"], lambda _: None)
        self.filter = filter
        if position:
            self.walk(position)
        self.subscribe(where or [])
        self.oracle.begin_round(True)

    def subscribe(self, where: Entries, is_answered: bool = True) -> None:
        self.oracle.asking("r", self.filter, 2, where)
        if is_answered:
            self.oracle.subscribed("r", self.filter, 2, False, where)

    def walk(self, position: str, is_answered: bool = True) -> None:
        self.oracle.walking("r", position)
        if is_answered:
            self.oracle.walked("r", position)

    def publish(self, template: str, place: str = NOWHERE) -> PublicationKey:
        where = [("gpl_current_pos", place)] if place else []
        key = self.oracle.publishing("w", "t", 2, False, template, where)
        self.oracle.acknowledged(key)
        return key

    def deliver(self, key: PublicationKey, prefix: str = "", identifier: int = -1) -> None:
        publication = self.oracle.publication(key)
        properties = publication.properties() or Properties()
        known = self.oracle.identifier("r", self.filter)
        properties.subscription_ids = [known if identifier < 0 else identifier]
        topic = prefix + "t"
        self.oracle.received("r", Publish(topic, publication.payload, 2, properties=properties))

    def faults(self) -> list[str]:
        self.oracle.end_round()
        return self.oracle.faults


@pytest.mark.parametrize(
    ("template", "passes"),
    [
        ("31.{digits}", True),
        ("29.{digits}", False),
        ("31", True),  # known by a User Property
        ("warm {key}", False),
        ('{"v":31,"k":"{key}"}', False),
    ],
)
def test_a_rule_requires_what_passes_and_forbids_the_rest(template: str, passes: bool) -> None:
    missing = Reading("$GT;30/t")
    missing.publish(template)
    assert bool(missing.faults()) == passes
    there = Reading("$GT;30/t")
    there.deliver(there.publish(template), "$GT;30/")
    assert bool(there.faults()) != passes


def test_a_delivery_is_for_the_subscription_that_it_names() -> None:
    reading = Reading("$GT;30/t")
    reading.deliver(reading.publish("31.{digits}"), "$GT;30/", identifier=9)
    assert "for the subscriptions [9]" in reading.oracle.faults[0]
    reading = Reading("$GT;30/t")
    reading.deliver(reading.publish("31.{digits}"))
    assert "where nobody published it" in reading.oracle.faults[0]


def test_twice_at_qos_2_is_a_fault_of_one_subscription_not_of_two() -> None:
    reading = Reading("$GT;30/t")
    reading.oracle.touched("r", "t")
    reading.oracle.subscribed("r", "t", 2, False)
    key = reading.publish("31.{digits}")
    reading.oracle.received("r", Publish("t", reading.oracle.publication(key).payload, 2))
    reading.deliver(key, "$GT;30/")
    assert not reading.oracle.faults
    reading.deliver(key, "$GT;30/")
    assert "twice at QoS 2" in reading.oracle.faults[0]


@pytest.mark.parametrize(
    ("place", "is_required", "is_allowed"),
    [(TOWN, True, True), (FAR, False, False), (NOWHERE, True, True)],
)
def test_who_stands_still_gets_what_is_near(
    place: str, is_required: bool, is_allowed: bool
) -> None:
    missing = Reading("t", AROUND_ME, NEAR)
    missing.publish("{key}", place)
    assert bool(missing.faults()) == is_required
    there = Reading("t", AROUND_ME, NEAR)
    there.deliver(there.publish("{key}", place))
    assert bool(there.faults()) != is_allowed


def test_while_a_client_walks_both_places_are_allowed_and_neither_is_required() -> None:
    reading = Reading("t", AROUND_ME, TOWN)
    reading.walk(FAR, is_answered=False)
    for place in (TOWN, FAR):
        reading.publish("{key}", place)
        reading.deliver(reading.publish("{key}", place))
    assert not reading.faults()


def test_what_both_places_want_is_required_on_the_way() -> None:
    reading = Reading("t", AROUND_ME, TOWN)
    reading.walk(NEAR)
    reading.publish("{key}", TOWN)
    assert "never got" in reading.faults()[0]


def test_once_a_client_knows_that_it_was_heard_the_old_place_is_forbidden() -> None:
    reading = Reading("t", AROUND_ME, TOWN)
    before = reading.publish("{key}", TOWN)
    reading.walk(FAR)
    reading.deliver(before)
    assert not reading.oracle.faults, "it was published before"
    reading.deliver(reading.publish("{key}", TOWN))
    assert "keeps out" in reading.oracle.faults[0]


def test_a_broker_that_forgot_may_go_by_any_place_of_old() -> None:
    reading = Reading("t", AROUND_ME, TOWN)
    reading.walk(FAR)
    reading.oracle.forgets("r")
    reading.publish("{key}", FAR)
    reading.deliver(reading.publish("{key}", TOWN))
    assert not reading.faults()


@pytest.mark.parametrize("is_answered", [False, True])
def test_areas_that_change_lose_nothing_that_both_want(is_answered: bool) -> None:
    wider: Entries = [("gpl_circleStatic", f"1;m;1;{TOWN};900")]
    reading = Reading("t", IN_TOWN)
    reading.subscribe(wider, is_answered)
    reading.publish("{key}", TOWN)
    assert "never got" in reading.faults()[0]


def test_areas_that_were_answered_are_all_there_is() -> None:
    reading = Reading("t", IN_TOWN)
    reading.subscribe(IN_FAR, is_answered=False)
    reading.deliver(reading.publish("{key}", TOWN))
    assert not reading.oracle.faults
    reading.oracle.subscribed("r", "t", 2, False, IN_FAR)
    reading.publish("{key}", FAR)
    assert not reading.oracle.faults
    reading.deliver(reading.publish("{key}", TOWN))
    assert "keeps out" in reading.oracle.faults[0]


def test_an_ended_rule_requires_nothing_and_allows_nothing_later() -> None:
    reading = Reading("$GT;30/t")
    reading.oracle.touched("r", "$GT;30/t")
    reading.publish("31.{digits}")
    reading.oracle.unsubscribed("r", "$GT;30/t")
    assert not reading.faults()
    reading.deliver(reading.publish("31.{digits}"), "$GT;30/")
    assert "after it had unsubscribed" in reading.oracle.faults[0]


def test_a_last_result_is_one_that_passed() -> None:
    reading = Reading("$GT;30/t")
    for payload, faults in (("31", 0), ("29", 1), ("32", 2)):  # nobody published 32
        if payload != "32":
            reading.publish(payload)
        properties = Properties()
        properties.subscription_ids = [reading.oracle.identifier("r", "$GT;30/t")]
        packet = Publish("$GT;30/t", payload.encode(), 2, True, properties=properties)
        reading.oracle.received("r", packet)
        assert len(reading.oracle.faults) == faults


def test_every_template_is_known_again() -> None:
    """By its payload, or by the property that goes with it."""
    random = Random(3)
    publications = Publications()
    for seed in range(40):
        for steps in with_operators(make_plan(seed)).rounds:
            for step in steps:
                for template in step.payloads:
                    name = f"c{random.randrange(9)}"
                    made = publications.add(name, step.topic, step.qos, template=template)
                    packet = Publish(made.topic, made.payload, properties=made.properties())
                    assert publications.of(packet) is made


def test_what_may_hold_is_what_was_not_answered_otherwise() -> None:
    possible = Possible("a")
    publications = Publications()
    first = publications.add("w", "t", 1)
    possible.told("b")
    assert sorted(possible.after(first)) == ["a", "b"]
    possible.answered("b", len(publications))
    second = publications.add("w", "t", 1)
    assert sorted(possible.after(first)) == ["a", "b"]
    assert possible.after(second) == ["b"]
    assert possible.in_round == {"a", "b"}
    possible.begin_round()
    assert possible.in_round == {"b"}
    possible.forgotten()
    assert sorted(possible.after(second)) == ["a", "b"]
    assert possible.in_round == {"a", "b"}
