"""Topics as columns: which match a filter, as in `topics/names.py`, and which results go out on."""

import re

from pyspark.sql import Column
from pyspark.sql import functions as F

from gossamer.plus.limits import MAX_TOPIC_BYTES
from gossamer.plus.plan import OperatorPlan
from gossamer.plus.result_topics import fallback_topic, spelt_levels


def matches(filters: tuple[str, ...], topic: Column) -> Column:
    """Whether the topic matches one of them."""
    plain = [filter for filter in filters if not _is_wild(filter)]
    tests = [_matches_wild(filter, topic) for filter in filters if _is_wild(filter)]
    if plain:
        tests.append(topic.isin(plain))
    found = tests[0]
    for test in tests[1:]:
        found = found | test
    return found


def _is_wild(filter: str) -> bool:
    return any(level in ("+", "#") for level in filter.split("/"))


def _matches_wild(filter: str, topic: Column) -> Column:
    first = filter.split("/")[0]
    if filter == "#":
        return ~topic.startswith("$")
    if filter.endswith("/#") and not _is_wild(filter[:-2]):
        return (topic == filter[:-2]) | topic.startswith(filter[:-1])
    found = topic.rlike(_pattern(filter))
    # [MQTT-4.7.2-1]
    return found & ~topic.startswith("$") if first in ("+", "#") else found


def _pattern(filter: str) -> str:
    levels = filter.split("/")
    deep = levels[-1] == "#"
    if deep:
        levels = levels[:-1]
    text = "/".join("[^/]*" if level == "+" else _quoted(level) for level in levels)
    # What follows may hold any character, line breaks included.
    return rf"\A{text}(?:/[\s\S]*)?\z" if deep else rf"\A{text}\z"


def _quoted(level: str) -> str:
    """Literal to Java's regular expressions, which escape the same characters as ours."""
    return re.sub(r"([^\w\s])", r"\\\1", level, flags=re.ASCII)


def address(plan: OperatorPlan, topic: Column) -> Column:
    """The topic of a result that is of one topic, as `ResultAddress` makes it."""
    spelt = dict(spelt_levels(plan))
    if not spelt:
        return F.concat(F.lit(plan.chain + "/"), topic)
    levels = F.split(topic, "/")
    parts: list[Column] = [F.lit(plan.chain)]
    wanted = plan.filter.split("/")
    for at, level in enumerate(wanted):
        if level == "#":
            break
        parts.append(F.lit(spelt[at]) if at in spelt else F.get(levels, at))
    if wanted[-1] == "#":
        rest = F.slice(levels, len(wanted), F.greatest(F.size(levels) - len(wanted) + 1, F.lit(0)))
        # What is not there (`a` matches `a/#`) leaves no separator behind.
        parts.append(F.when(F.size(rest) > 0, F.array_join(rest, "/")))
    return F.concat_ws("/", *parts)


def reply_parts(filter: str, topic: Column) -> list[tuple[int, Column]]:
    """What stands in the topic for each wildcard of the filter, by the number of its level."""
    levels = F.split(topic, "/")
    parts: list[tuple[int, Column]] = []
    for at, level in enumerate(filter.split("/")):
        if level == "+":
            parts.append((at, escaped(F.get(levels, at))))
        elif level == "#":
            rest = F.slice(levels, at + 1, F.greatest(F.size(levels) - at, F.lit(0)))
            parts.append((at, escaped(F.array_join(rest, "/"))))
    return parts


def escaped(name: Column) -> Column:
    """As `plus/result_topics.py` writes a participant's name."""
    for character, code in (("%", "%25"), (";", "%3B"), ("/", "%2F")):
        name = F.replace(name, F.lit(character), F.lit(code))
    return name


def participants(plan: OperatorPlan, topic: Column) -> list[Column]:
    """To collect in each group: the names that stand for each wildcard."""
    return [
        F.sort_array(F.collect_set(part)).alias(f"names{at}")
        for at, part in reply_parts(plan.filter, topic)
    ]


def reply_topic(plan: OperatorPlan, names_participants: bool) -> Column:
    """The topic of an aggregate over topics, from what `participants` collected."""
    levels = plan.filter.split("/")
    single = F.lit(fallback_topic(plan))
    if not names_participants:
        return single
    named = [
        F.array_join(F.col(f"names{at}"), ";") if level in ("+", "#") else F.lit(level)
        for at, level in enumerate(levels)
    ]
    full = F.concat_ws("/", F.lit(plan.chain), *named)
    return F.when(fits(full), full).otherwise(single)


def fits(topic: Column) -> Column:
    """Whether the name can be sent."""
    return F.octet_length(topic) <= MAX_TOPIC_BYTES
