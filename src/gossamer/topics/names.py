"""Topic names and topic filters, by section 4.7 of the standard: which strings they are, and does
one filter match one topic?

The checks return in silence or raise `TopicError` with a text fit for a reason string. `matches` is
the definition that trees and covers are tested against. Shared subscriptions,
`$share/{group}/{filter}`, are taken apart here too (section 4.8.2).
"""

from typing import Final

MAX_BYTES: Final = 65535  # The wire counts the bytes of a string in 16 bits.
MAX_LEVELS: Final = 200  # Far above any real topic; bounds the work one packet can ask for.
SHARE_PREFIX: Final = "$share/"

_SHORT: Final = MAX_BYTES // 4  # So few characters fit whatever they are: no need to encode.


class TopicError(ValueError):
    """A topic name or filter that the standard or a limit does not allow."""


def check_name(topic: str, max_levels: int = MAX_LEVELS) -> None:
    """Accept what may be published to: no wildcards. [MQTT-3.3.2-2], [MQTT-4.7.0-1]"""
    _check_common(topic, "topic name", max_levels)
    if "+" in topic or "#" in topic:
        raise TopicError("topic name must not contain a wildcard (+ or #)")


def check_filter(filter: str, max_levels: int = MAX_LEVELS) -> None:
    """Accept what may be subscribed to: wildcards only as whole levels, `#` only as the last."""
    _check_common(filter, "topic filter", max_levels)
    if "+" not in filter and "#" not in filter:
        return
    if "#" in filter:
        if filter.find("#") != len(filter) - 1:
            raise TopicError("# must be the last character of a topic filter")  # [MQTT-4.7.1-1]
        if len(filter) > 1 and not filter.endswith("/#"):
            raise TopicError("# must occupy a whole level of a topic filter")
    for level in filter.split("/"):
        if "+" in level and level != "+":
            raise TopicError("+ must occupy a whole level of a topic filter")  # [MQTT-4.7.1-2]


def _check_common(text: str, what: str, max_levels: int) -> None:
    if not text:
        raise TopicError(f"{what} must not be empty")  # [MQTT-4.7.3-1]
    if "\0" in text:
        raise TopicError(f"{what} must not contain U+0000")  # [MQTT-4.7.3-2]
    if len(text) > _SHORT and len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise TopicError(f"{what} must not exceed {MAX_BYTES} bytes")  # [MQTT-4.7.3-3]
    if text.count("/") >= max_levels:
        raise TopicError(f"{what} must not have more than {max_levels} levels")


def split_share(filter: str) -> tuple[str, str]:
    """The group and the filter it shares; an empty group and `filter` itself if not shared.

    The filter that is shared is not checked further: that is `check_filter`'s.
    """
    if not filter.startswith(SHARE_PREFIX):
        return "", filter
    end = filter.find("/", len(SHARE_PREFIX))
    if end < 0 or end == len(filter) - 1:
        raise TopicError("shared subscription lacks a filter: use $share/{group}/{filter}")
    group = filter[len(SHARE_PREFIX) : end]
    if not group:
        raise TopicError("shared subscription has an empty group name")  # [MQTT-4.8.2-1]
    if "+" in group or "#" in group:
        raise TopicError("group of a shared subscription must not contain + or #")  # [MQTT-4.8.2-2]
    return group, filter[end + 1 :]


def matches(filter: str, topic: str) -> bool:
    """Whether a valid filter matches a valid topic name, each as it is spelt [MQTT-4.7.3-4]."""
    if topic.startswith("$") and filter[0] in ("+", "#"):
        return False  # [MQTT-4.7.2-1]
    wanted = filter.split("/")
    levels = topic.split("/")
    depth = len(levels)
    at = 0
    for level in wanted:
        if level == "#":
            return True  # The parent level counts too: `a/#` matches `a`.
        if at == depth or (level != "+" and level != levels[at]):
            return False
        at += 1
    return at == depth
