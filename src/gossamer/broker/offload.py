"""Operators that a query outside the broker answers: telling what is wanted, handing out results.

What is wanted is retained under `$gossamer/offload/wanted/`, one topic for each operation. Answers
come to `$gossamer/offload/answer`, with the operation's key and the result's topic as User
Properties, and go to the operation's subscribers like results of the broker's own. Only the users
that the configuration names may read the one and write the other.

An answer without a topic is a sign of life. Where nobody gives one for as long as the configuration
has patience, the broker computes the operation itself until somebody does (`broker/takeover.py`).
The third User Property is the time of the result, by which what the broker has sent already is told
apart from what it has not.
"""

from __future__ import annotations

import hashlib
import json
import logging
from typing import TYPE_CHECKING, Final

from gossamer.broker.delivery import publish
from gossamer.broker.subscription_tree import Tap
from gossamer.plus.engine import read_key
from gossamer.plus.offload import NEVER, OffloadedState
from gossamer.plus.state import OperatorResult, OperatorState
from gossamer.plus.values import INFINITY
from gossamer.session.identity import Identity
from gossamer.session.message import Message
from gossamer.session.session import Session
from gossamer.topics.names import TopicError, check_name

if TYPE_CHECKING:
    from gossamer.broker.core import Core

logger = logging.getLogger(__name__)

TOPICS: Final = "$gossamer/offload/"
WANTED: Final = TOPICS + "wanted/"
ANSWER: Final = TOPICS + "answer"
KEY_PROPERTY: Final = "offload_key"
TOPIC_PROPERTY: Final = "offload_topic"
TIME_PROPERTY: Final = "offload_time"  # seconds since 1970

# Of the digest of a key: enough that no two operations of a broker meet.
NAME_LETTERS: Final = 24


def may_use(core: Core, client: Identity, topic: str) -> bool:
    """Whether the client may read or write this topic or filter, which is for nobody else."""
    return topic.startswith(TOPICS) and client.user in core.settings.offload_users


def want(core: Core, state: OperatorState, now: float) -> None:
    """Somebody has subscribed to it."""
    filter, options = read_key(state.key)
    temporal = state.plan.temporal
    windows = {} if temporal is None else {temporal.window.keyword: temporal.window.seconds}
    told: dict[str, object] = {
        "key": state.key,
        "filter": filter,
        "reply": "rpt" if options.names_participants else "skr",
        "ttl": state.services.implicit_ttl,
        "windows": windows,
        "since": now,
    }
    rule = core.operators.engine.offloads
    if rule is not None and rule.patience != NEVER:
        told["patience"] = rule.patience
    _tell(core, state, json.dumps(told).encode(), now)


def want_no_more(core: Core, state: OperatorState, now: float) -> None:
    _tell(core, state, b"", now)


def _tell(core: Core, state: OperatorState, payload: bytes, now: float) -> None:
    name = hashlib.sha256(state.key.encode()).hexdigest()[:NAME_LETTERS]
    publish(core, Message(WANTED + name, payload, 1, True, None, 0.0, "", ""), None, now)


class OffloadAnswers(Tap):
    """Among the routes, as the reader of answers."""

    def __init__(self, core: Core) -> None:
        self.core = core

    def take(self, message: Message, origin: Session | None, now: float) -> None:
        said = {} if message.properties is None else dict(message.properties.user)
        key = said.get(KEY_PROPERTY, "")
        topic = said.get(TOPIC_PROPERTY, "")
        operation = self.core.operators.operations.get(key)
        if operation is None:
            return  # its last subscriber has just left
        self.core.operators.takeovers.heard(operation, now)
        state = operation.state
        if not topic and isinstance(state, OffloadedState):
            return
        if not isinstance(state, OffloadedState) or not _is_of(state, topic):
            logger.warning("%s sent an unrequested result %r on %r", message.user, key, topic)
            return
        if state.covers(_time_of(said)):
            return
        result = OperatorResult(topic, message.payload)
        state.answered(result)
        operation.send(result, now)


def _time_of(said: dict[str, str]) -> float:
    """Of a result; infinite where it is not stated."""
    try:
        return float(said.get(TIME_PROPERTY, INFINITY))
    except ValueError:
        return INFINITY


def _is_of(state: OffloadedState, topic: str) -> bool:
    try:
        check_name(topic)
    except TopicError:
        return False
    return topic.startswith(state.plan.chain + "/")
