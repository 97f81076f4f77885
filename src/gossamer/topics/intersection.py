"""The filter that matches exactly what two filters both match: there is always one, or none."""

from gossamer.topics.containment import END, pattern


def meet(a: str, b: str) -> str | None:
    """None if no topic matches both."""
    if a[0] != b[0] and (a[0] == "$" or b[0] == "$"):
        return None  # [MQTT-4.7.2-1]
    in_a = pattern(a)
    in_b = pattern(b)
    levels: list[str] = []
    at = 0
    while True:
        x = in_a[at]
        y = in_b[at]
        if x == "#" or y == "#":
            levels.extend(in_b[at:] if x == "#" else in_a[at:])
            break
        if x == END or y == END:
            if x != y:
                return None
            levels.append(END)
            break
        if x == "+":
            levels.append(y)
        elif y == "+" or x == y:
            levels.append(x)
        else:
            return None
        at += 1
    if levels[-1] == END:
        levels.pop()
    return "/".join(levels)
