"""SASLprep (RFC 4013): two spellings of one name or password become the same text."""

import stringprep
import unicodedata
from typing import Final

_PROHIBITED: Final = (
    stringprep.in_table_c12,
    stringprep.in_table_c21_c22,
    stringprep.in_table_c3,
    stringprep.in_table_c4,
    stringprep.in_table_c5,
    stringprep.in_table_c6,
    stringprep.in_table_c7,
    stringprep.in_table_c8,
    stringprep.in_table_c9,
)


def saslprep(text: str) -> str:
    """The prepared text; ValueError if it holds what RFC 4013 prohibits."""
    if text.isascii() and text.isprintable():
        return text
    mapped = "".join(
        " " if stringprep.in_table_c12(one) else one
        for one in text
        if not stringprep.in_table_b1(one)
    )
    prepared = unicodedata.normalize("NFKC", mapped)
    if any(table(one) for one in prepared for table in _PROHIBITED):
        raise ValueError("a character that SASLprep prohibits")
    right_to_left = [stringprep.in_table_d1(one) for one in prepared]
    if any(right_to_left):
        mixed = any(stringprep.in_table_d2(one) for one in prepared)
        if mixed or not (right_to_left[0] and right_to_left[-1]):
            raise ValueError("right-to-left text mixed with other text")
    return prepared
