"""Operators that are nearly spelt right: `$Avg`, `$GT:3`, `$$GT`.

To MQTT they are ordinary filters, which nothing will ever match. Names that other brokers use in
their own first levels (`$share`, `$queue`, `$aws`) are none of these.
"""

import re
from typing import Final

from gossamer.plus.limits import MAX_CHAIN_CHARACTERS
from gossamer.plus.vocabulary import RESERVED, Vocabulary

_SEVERAL_DOLLARS: Final = re.compile(r"\$+")
# What stands between an operator and its argument in other languages.
_SEPARATORS: Final = re.compile(r"[:=,(\s]+")
_KEYWORD: Final = re.compile(r"\$([A-Za-z][A-Za-z0-9]*)(.*)", re.DOTALL)


def meant_by(filter: str, vocabulary: Vocabulary) -> str:
    """The filter with its first level as the operators spell it; "" if none seems to be meant.

    `filter` is not one of theirs already.
    """
    chain, slash, rest = filter.partition("/")
    if not chain.startswith("$") or len(chain) > MAX_CHAIN_CHARACTERS:
        return ""
    operators = _SEVERAL_DOLLARS.sub("$", chain).rstrip(")")[1:].split("$")
    spelled: list[str] = []
    for operator in operators:
        found = _KEYWORD.fullmatch("$" + operator)
        if found is None:
            return ""
        keyword = found[1].upper()
        if keyword in RESERVED or not vocabulary.knows(keyword):
            return ""
        spelled.append(f"${keyword}{_SEPARATORS.sub(';', found[2])}")
    return "".join(spelled) + slash + rest
