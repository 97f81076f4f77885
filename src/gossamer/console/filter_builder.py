"""From the choices of a form to the filter and the User Properties that say the same; and what
there is to choose, from the broker's `$SYS/capabilities`."""

import json
import shlex
from dataclasses import dataclass
from typing import Any, Final

from gossamer.console.broker_watch import BrokerWatch
from gossamer.geo.areas import GlpError
from gossamer.geo.glp import parse
from gossamer.net.admin.client import AdminError
from gossamer.plus.operators.by import BY
from gossamer.plus.operators.plus_every import PLUS_EVERY
from gossamer.plus.registry import SEQUENCES
from gossamer.plus.vocabulary import CAPABILITIES_TOPIC, Vocabulary
from gossamer.topics.names import TopicError, check_filter


@dataclass(frozen=True)
class Capabilities:
    """Keywords without `$`, each with what it does."""

    rules: dict[str, str]
    sequences: dict[str, str]
    functions: dict[str, str]
    windows: tuple[str, ...]
    processors: dict[str, str]


def read_capabilities(text: bytes | str) -> Capabilities:
    """ValueError if it is not such a list."""
    entries: list[dict[str, Any]] = json.loads(text)
    kinds: dict[str, dict[str, str]] = {}
    for entry in entries:
        if "unavailable" not in entry:
            found = kinds.setdefault(entry["kind"], {})
            found[entry["keyword"].removeprefix("$")] = entry["desc"]
    functions = kinds.get("spatial", {})
    windows = {
        keyword.removesuffix(function)
        for keyword in kinds.get("temporal", {})
        for function in functions
        if keyword.endswith(function)
    }
    # QUARTERHOURLYAVG ends with AVG only, but a window named XMIN would also end with MIN.
    shortest = [one for one in windows if not any(one != w and one.startswith(w) for w in windows)]
    return Capabilities(
        kinds.get("rule", {}),
        kinds.get("sequence", {}),
        functions,
        tuple(sorted(shortest)),
        kinds.get("processor", {}),
    )


BUILT_IN = read_capabilities(Vocabulary().capabilities())


async def capabilities_of(broker: BrokerWatch) -> Capabilities:
    """Those of the broker; those of every broker where it does not tell."""
    try:
        answer = await broker.ask("GET", "/v1/retained", {"filter": CAPABILITIES_TOPIC})
        return read_capabilities(answer["entries"][0]["payload"])
    except (AdminError, ValueError, KeyError, IndexError, TypeError):
        return BUILT_IN


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
    sequence: str = ""
    argument: str = ""  # of the sequence
    follows_results: bool = False  # the sequence follows what the aggregate gives, not what enters
    group: str = ""  # a field of JSON
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
        user = (*user, (PLUS_EVERY.keyword, wanted.every))
    return Built(filter, user, _trouble(wanted, chain, filter))


def _chain(wanted: WantedFilter) -> str:
    """Outermost first: a rule, an aggregate over topics, one over time, a sequence, a processor;
    or the sequence first, and then the rule."""
    temporal = wanted.window + wanted.over_time if wanted.window and wanted.over_time else ""
    is_around = wanted.follows_results and bool(temporal or wanted.over_topics)
    field = _encoded(wanted.field)
    sequence = _sequence(wanted, "" if is_around else field)
    # Only what reads the payload has fields: the innermost of them.
    if not is_around and wanted.sequence in SEQUENCES:
        field = field if SEQUENCES[wanted.sequence].returns == "payload" else ""
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
    chain = first + second + time
    chain = sequence + chain if is_around else chain + sequence
    if wanted.group:
        chain += _operator(BY.keyword, _encoded(wanted.group), "")
    return chain + (f"${wanted.processor}" if wanted.processor else "")


def _sequence(wanted: WantedFilter, field: str) -> str:
    if not wanted.sequence:
        return ""
    known = SEQUENCES.get(wanted.sequence)
    reads = field if known is not None and known.has_field else ""
    return _operator(wanted.sequence, _encoded(wanted.argument), reads)


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
    sequence = SEQUENCES.get(wanted.sequence)
    if sequence is not None:
        try:
            sequence.read(wanted.argument)
        except ValueError as error:
            return f"${wanted.sequence}: {error}"
    if chain and ";" in wanted.topics and not wanted.over_topics:
        return "a list of topics needs an aggregate over topics; a ; of a name is written %3B"
    if wanted.group and not wanted.topics.endswith("/+"):
        return "groups need topics that end with /+, where the keys stand"
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
