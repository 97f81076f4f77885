"""Shared subscriptions: `$share/{group}/{filter}` taken apart (section 4.8.2)."""

from typing import Final

from gossamer.topics.names import TopicError

PREFIX: Final = "$share/"


def split_share(filter: str) -> tuple[str, str]:
    """The group and the filter it shares; an empty group and `filter` itself if not shared.

    The filter that is shared is not checked further: that is `check_filter`'s.
    """
    if not filter.startswith(PREFIX):
        return "", filter
    end = filter.find("/", len(PREFIX))
    if end < 0 or end == len(filter) - 1:
        raise TopicError("shared subscription lacks a filter: use $share/{group}/{filter}")
    group = filter[len(PREFIX) : end]
    if not group:
        raise TopicError("shared subscription has an empty group name")  # [MQTT-4.8.2-1]
    if "+" in group or "#" in group:
        raise TopicError("group of a shared subscription must not contain + or #")  # [MQTT-4.8.2-2]
    return group, filter[end + 1 :]
