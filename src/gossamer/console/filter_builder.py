"""From the choices of a form to the filter and the User Properties that say the same."""

import shlex
from dataclasses import dataclass
from typing import Final

from gossamer.geo.errors import GlpError
from gossamer.geo.glp import parse
from gossamer.topics.names import TopicError, check_filter

EVERY: Final = "plus_every"
EVENTS: Final = "gpl_events"
ENCODED: Final = "%/$;+#"  # what an argument cannot hold as it is; % first

User = tuple[tuple[str, str], ...]


@dataclass
class WantedFilter:
    """Empty texts are choices that were not made."""

    topics: str = "#"
    rule: str = ""
    operand: str = ""
    field: str = ""
    judges_values: bool = False  # the rule sorts out what enters the aggregate, not what it gives
    over_topics: str = ""
    names_topics: bool = False
    window: str = ""
    over_time: str = ""
    processor: str = ""
    every: str = ""
    areas: User = ()
    events: tuple[str, ...] = ()


@dataclass(frozen=True)
class Built:
    """What is sent in the SUBSCRIBE; `trouble` says why it would be refused."""

    filter: str
    user: User
    trouble: str

    def command(self, mqtt_url: str) -> str:
        """The same for a terminal."""
        words = ["gossamer", "sub", "-v", "-L", mqtt_url, "-t", self.filter]
        for key, text in self.user:
            words += ["--user-property", f"{key}={text}"]
        return shlex.join(words)


def built(wanted: WantedFilter) -> Built:
    chain = _chain(wanted)
    filter = f"{chain}/{wanted.topics}" if chain else wanted.topics
    user = wanted.areas
    if wanted.events and wanted.areas:
        user = (*user, (EVENTS, ",".join(wanted.events)))
    if wanted.every and wanted.over_topics:
        user = (*user, (EVERY, wanted.every))
    return Built(filter, user, _trouble(wanted, chain, filter))


def _chain(wanted: WantedFilter) -> str:
    """Outermost first: a rule, an aggregate over topics, one over time, a processor."""
    field = _encoded(wanted.field)
    temporal = wanted.window + wanted.over_time if wanted.window and wanted.over_time else ""
    # Only what reads the payload has fields: the innermost of them.
    of_rule = field if not temporal and not wanted.over_topics else ""
    of_topics = field if not temporal else ""
    rule = ""
    if wanted.rule:
        rule = _operator(wanted.rule, _encoded(wanted.operand), of_rule)
    topics = ""
    if wanted.over_topics:
        topics = _operator(wanted.over_topics, "RPT" if wanted.names_topics else "", of_topics)
    first, second = (topics, rule) if wanted.judges_values and topics else (rule, topics)
    time = _operator(temporal, "", field) if temporal else ""
    return first + second + time + (f"${wanted.processor}" if wanted.processor else "")


def _operator(keyword: str, argument: str, field: str) -> str:
    if field:
        return f"${keyword};{argument};{field}"
    return f"${keyword};{argument}" if argument else f"${keyword}"


def _encoded(text: str) -> str:
    for character in ENCODED:
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def _trouble(wanted: WantedFilter, chain: str, filter: str) -> str:
    if wanted.rule and not wanted.operand:
        return "the condition needs a value to compare with"
    if bool(wanted.window) != bool(wanted.over_time):
        return "choose a window and a function over time, or neither"
    if wanted.judges_values and wanted.window:
        return "a condition cannot apply to each value before a window: apply it to the result"
    if chain and wanted.areas:
        return "operators cannot be combined with areas: choose one of the two"
    if wanted.events and not wanted.areas:
        return "events need an area: add one"
    try:
        check_filter(filter)
        parse(list(wanted.areas))
    except TopicError as error:
        return str(error)
    except GlpError as error:
        return error.text
    return ""
