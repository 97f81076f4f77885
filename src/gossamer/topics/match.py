"""Does one filter match one topic? The definition that trees and covers are tested against."""


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
