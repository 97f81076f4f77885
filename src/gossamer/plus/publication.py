"""A publication as the operators see it: parsed at most once, however many of them it touches.

How long its value stays valid is explicit (Message Expiry, `plus_ttl`) or implicit.
"""

import re
from calendar import timegm
from datetime import date
from typing import Final

from gossamer.plus.encodings import PLAIN, as_json
from gossamer.plus.limits import MAX_JSON_BYTES
from gossamer.plus.plan import Field
from gossamer.plus.values import (
    INFINITY,
    MISSING,
    NAN,
    look_up,
    read_document,
    read_number,
    text_of,
)
from gossamer.wire.properties import Properties

IMPLICIT_TTL: Final = 3_600.0
TTL_PROPERTY: Final = "plus_ttl"

# Why a value was skipped; the names under which skips are counted.
NOT_NUMERIC: Final = "not_numeric"
NOT_FINITE: Final = "not_finite"
NOT_UTF8: Final = "not_utf8"
NOT_JSON: Final = "not_json"
TOO_DEEP: Final = "too_deep"
TOO_LARGE: Final = "too_large"
NO_FIELD: Final = "no_field"
NO_KEY: Final = "no_key"
BAD_TTL: Final = "bad_ttl"
BAD_ENCODING: Final = "bad_encoding"
TOO_MANY_TOPICS: Final = "too_many_topics"
NO_ROOM: Final = "no_room"
TOPIC_TOO_LONG: Final = "topic_too_long"
OVERFLOW: Final = "overflow"
BUSY: Final = "busy"
NOT_AN_IMAGE: Final = "not_an_image"
TOO_MANY_PIXELS: Final = "too_many_pixels"
TIMED_OUT: Final = "timed_out"
PROCESSOR_FAILED: Final = "processor_failed"

_UNREAD: Final = object()

# RFC 3339, in UTC where it names no zone.
_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(\.\d{1,9})?"
    r"(?:[Zz]|([+-])(\d\d):(\d\d))?",
    re.ASCII,
)
# As the paper writes it: dd/mm/yyyy HH:MM:SS, in UTC.
_PRINTED_TIME = re.compile(r"(\d\d)/(\d\d)/(\d{4}) (\d\d:\d\d:\d\d)", re.ASCII)


class Publication:
    """`trouble` says why the last question had no answer."""

    __slots__ = (
        "_content",
        "_content_read",
        "_content_trouble",
        "_document",
        "_document_trouble",
        "_number",
        "_number_read",
        "_text",
        "_text_read",
        "_valid_until",
        "encoding",
        "expires_at",
        "payload",
        "properties",
        "topic",
        "trouble",
    )

    def __init__(
        self,
        topic: str,
        payload: bytes,
        expires_at: float = 0.0,
        properties: Properties | None = None,
        encoding: str = PLAIN,
    ) -> None:
        self.topic = topic
        self.payload = payload
        self.expires_at = expires_at  # 0 without a Message Expiry Interval
        self.properties = properties
        self.encoding = encoding
        self.trouble = ""
        self._content: bytes | None = None
        self._content_read = False
        self._content_trouble = ""
        self._number = 0.0
        self._number_read = False
        self._text: str | None = None
        self._text_read = False
        self._document: object = _UNREAD
        self._document_trouble = ""
        self._valid_until = 0.0

    def content_type(self) -> str | None:
        return None if self.properties is None else self.properties.content_type

    def content(self) -> bytes | None:
        """What operators read: the payload, or the JSON that says the same. None with `trouble` set
        if it is not in the encoding that it should have."""
        if not self.encoding:
            return self.payload
        if not self._content_read:
            self._content_read = True
            try:
                self._content = as_json(self.payload, self.encoding)
            except RecursionError:
                self._content_trouble = TOO_DEEP
            except ValueError:
                self._content_trouble = BAD_ENCODING
        if self._content is None:
            self.trouble = self._content_trouble
        return self._content

    def as_number(self, field: Field | None) -> float:
        """A finite number, or NaN with `trouble` set."""
        if field is not None:
            return self._field_as_number(field)
        if not self._number_read:
            content = self.content()
            if content is None:
                return NAN
            self._number = read_number(content)
            self._number_read = True
        value = self._number
        if value - value == 0.0:
            return value
        self.trouble = NOT_NUMERIC if value != value else NOT_FINITE
        return NAN

    def settle_number(self, value: float) -> None:
        """The payload was written from it."""
        self._number = value
        self._number_read = True

    def renamed(self, topic: str) -> "Publication":
        """On another topic; what was read of it need not be read again."""
        other = Publication(topic, self.payload, self.expires_at, self.properties)
        other._document = self._document
        other._document_trouble = self._document_trouble
        return other

    def as_key(self, field: Field) -> str | None:
        """None with `trouble` set for what is neither a text nor a number nor a truth value."""
        found = self._look_up(field)
        if found is MISSING:
            return None
        if not isinstance(found, str | int | float):
            self.trouble = NO_KEY
            return None
        return text_of(found)

    def as_text(self, field: Field | None) -> str | None:
        """None with `trouble` set if there is no text."""
        if field is None:
            return self._whole_text()
        found = self._look_up(field)
        return None if found is MISSING else text_of(found)

    def valid_until(self, now: float, implicit: float, wall_offset: float = 0.0) -> float:
        """The end of the value's validity; a malformed `plus_ttl` raises ValueError, once.

        That is a time of the wall clock, which shows `wall_offset` more than `now`.
        """
        if self._valid_until == 0.0:
            self._valid_until = now + implicit
            user = self.properties.user if self.properties is not None else []
            self._valid_until = valid_until(self.expires_at, user, now + implicit, wall_offset)
        return self._valid_until

    def _field_as_number(self, field: Field) -> float:
        found = self._look_up(field)
        if found is MISSING:
            return NAN
        if isinstance(found, bool):
            self.trouble = NOT_NUMERIC
            return NAN
        if isinstance(found, int):
            return float(found)
        if not isinstance(found, float):
            self.trouble = NOT_NUMERIC
            return NAN
        if abs(found) == INFINITY:
            self.trouble = NOT_FINITE
            return NAN
        return found

    def _whole_text(self) -> str | None:
        if not self._text_read:
            self._text_read = True
            content = self.content()
            try:
                self._text = None if content is None else content.decode()
            except UnicodeDecodeError:
                self._text = None
        if self._text is None:
            self.trouble = self._content_trouble or NOT_UTF8
        return self._text

    def _look_up(self, field: Field) -> object:
        if self._document is _UNREAD:
            self._read_document()
        if self._document is MISSING:
            self.trouble = self._document_trouble
            return MISSING
        found = look_up(self._document, field)
        if found is MISSING:
            self.trouble = NO_FIELD
        return found

    def _read_document(self) -> None:
        self._document = MISSING
        if len(self.payload) > MAX_JSON_BYTES:
            self._document_trouble = TOO_LARGE
            return
        text = self._whole_text()
        if text is None:
            self._document_trouble = self._content_trouble or NOT_UTF8
            return
        try:
            self._document = read_document(text)
        except RecursionError:
            self._document_trouble = TOO_DEEP
        except ValueError:
            self._document_trouble = NOT_JSON


def read_time(text: str) -> float:
    """Seconds of the wall clock for an RFC 3339 time, with or without a zone, or one as the paper
    writes it; raises ValueError for anything else."""
    printed = _PRINTED_TIME.fullmatch(text)
    if printed is not None:
        text = f"{printed[3]}-{printed[2]}-{printed[1]}T{printed[4]}"
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError(
            f"{text[:40]!r} is not a time such as 2031-05-24T15:36:25Z or 24/05/2031 15:36:25"
        )
    year, month, day, hour, minute, second = [int(found[n]) for n in range(1, 7)]
    date(year, month, day)  # refuses the 30th of February
    if hour > 23 or minute > 59 or second > 60:
        raise ValueError(f"{text!r} has no such time of day")
    seconds = float(timegm((year, month, day, hour, minute, second)))
    if found[7] is not None:
        seconds += float(found[7])
    if found[8] is not None:
        offset = int(found[9]) * 3600 + int(found[10]) * 60
        seconds += -offset if found[8] == "+" else offset
    return seconds


def ttl_trouble(user: list[tuple[str, str]]) -> str:
    """What is wrong with a `plus_ttl` among these; "" if nothing is."""
    for name, value in user:
        if name == TTL_PROPERTY:
            try:
                read_time(value)
            except ValueError as error:
                return f"{TTL_PROPERTY}: {error}; the value is valid as long as one without it"
    return ""


def valid_until(
    expires_at: float, user: list[tuple[str, str]], otherwise: float, wall_offset: float = 0.0
) -> float:
    """The end of a value's validity, or `otherwise` if the publisher set none.

    `expires_at` is where the Message Expiry Interval ends, 0 without one. Where both are given
    the earlier holds, so that neither promise is broken. Raises ValueError for a bad `plus_ttl`.
    """
    ends = expires_at if expires_at > 0.0 else 0.0
    for name, value in user:
        if name == TTL_PROPERTY:
            stated = read_time(value) - wall_offset
            if ends == 0.0 or stated < ends:
                ends = stated
    return ends if ends != 0.0 else otherwise
