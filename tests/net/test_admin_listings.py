"""Lists of the admin API are looked through in slices, and hold a page of what was found."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from gossamer.broker.broker import Broker
from gossamer.broker.settings import Settings
from gossamer.net.admin import views
from gossamer.net.admin.http import HttpError
from gossamer.session.journal import Journal
from gossamer.session.message import Message
from gossamer.session.records import SessionRecord, SubscriptionRecord
from gossamer.session.session import Session
from gossamer.session.subscription import Subscription

MANY = 3 * views.SLICE + 7


@pytest.fixture(scope="module")
def broker() -> Broker:
    made = Broker(Settings(), Journal(), 0.0)
    core = made.core
    for number in range(MANY):
        session = Session(core.hub, SessionRecord(f"Client{number}", "", 60))
        core.sessions[session.client_id] = session
        for filter in (f"a/{number}", f"b/{number}"):
            record = SubscriptionRecord(filter, 1, False, False, 0, 0)
            session.subscriptions[filter] = Subscription(session, record, "", filter)
        message = Message(f"r/{number}", b"x", 0, True, None, 0.0, "", "")
        core.retained.keep(message, message)
    return made


def turns_of(listing: Coroutine[Any, Any, Any]) -> tuple[Any, int]:
    """What it answers, and how often others were served before that."""

    async def run() -> tuple[Any, int]:
        served = 0
        task = asyncio.ensure_future(listing)
        while not task.done():
            await asyncio.sleep(0)
            served += 1
        return task.result(), served

    return asyncio.run(run())


def test_subscriptions_are_those_of_all_sessions_in_order(broker: Broker) -> None:
    query = {"offset": str(2 * MANY - 3), "limit": "10"}
    answer, served = turns_of(views.subscriptions(broker.core, query))
    assert answer["total"] == 2 * MANY
    assert [one["filter"] for one in answer["entries"]] == [
        f"b/{MANY - 2}",
        f"a/{MANY - 1}",
        f"b/{MANY - 1}",
    ]
    assert served >= MANY // views.SLICE


@pytest.mark.parametrize("offset", [0, 1, 40, 1_000_000])
def test_a_search_answers_a_page_of_what_it_found(broker: Broker, offset: int) -> None:
    wanted = [f"Client{number}" for number in range(MANY) if "99" in str(number)]
    query = {"search": "99", "offset": str(offset), "limit": "20"}
    answer, served = turns_of(views.searched_sessions(broker.core, query))
    assert answer["total"] == len(wanted)
    assert [one["client_id"] for one in answer["entries"]] == wanted[offset : offset + 20]
    assert served >= MANY // views.SLICE


def test_retained_messages_are_searched_in_turns(broker: Broker) -> None:
    answer, served = turns_of(views.retained(broker.core, {"filter": "r/#", "limit": "1000"}, 0.0))
    assert answer["total"] == MANY
    assert len({one["topic"] for one in answer["entries"]}) == 1000
    assert served >= MANY // views.SLICE


def test_sessions_that_come_and_go_meanwhile_are_no_trouble(broker: Broker) -> None:
    core = broker.core

    async def run() -> int:
        task = asyncio.ensure_future(views.subscriptions(core, {}))
        await asyncio.sleep(0)
        last = core.sessions.pop(f"Client{MANY - 1}")
        core.sessions["new"] = Session(core.hub, SessionRecord("new", "", 60))
        found = await task
        del core.sessions["new"]
        core.sessions[last.client_id] = last
        return int(found["total"])

    assert asyncio.run(run()) == 2 * MANY - 2


def test_a_page_without_an_end_is_refused_before_anything_is_searched(broker: Broker) -> None:
    with pytest.raises(HttpError):
        turns_of(views.subscriptions(broker.core, {"limit": "0"}))
