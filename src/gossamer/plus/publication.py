"""A publication as the operators see it: parsed at most once, however many of them it touches."""

from typing import Final

from gossamer.plus.fields import MISSING, Field, look_up
from gossamer.plus.limits import MAX_JSON_BYTES
from gossamer.plus.ttl import valid_until
from gossamer.plus.values import INFINITY, NAN, read_document, read_number, text_of
from gossamer.wire.properties import Properties

# Why a value was skipped; the names under which skips are counted.
NOT_NUMERIC: Final = "not_numeric"
NOT_FINITE: Final = "not_finite"
NOT_UTF8: Final = "not_utf8"
NOT_JSON: Final = "not_json"
TOO_DEEP: Final = "too_deep"
TOO_LARGE: Final = "too_large"
NO_FIELD: Final = "no_field"
BAD_TTL: Final = "bad_ttl"
TOO_MANY_TOPICS: Final = "too_many_topics"
NO_ROOM: Final = "no_room"
TOPIC_TOO_LONG: Final = "topic_too_long"
OVERFLOW: Final = "overflow"
BUSY: Final = "busy"
NOT_AN_IMAGE: Final = "not_an_image"
TOO_MANY_PIXELS: Final = "too_many_pixels"
TIMED_OUT: Final = "timed_out"
PROCESSOR_FAILED: Final = "processor_failed"

REASONS: Final = (
    NOT_NUMERIC,
    NOT_FINITE,
    NOT_UTF8,
    NOT_JSON,
    TOO_DEEP,
    TOO_LARGE,
    NO_FIELD,
    BAD_TTL,
    TOO_MANY_TOPICS,
    NO_ROOM,
    TOPIC_TOO_LONG,
    OVERFLOW,
    BUSY,
    NOT_AN_IMAGE,
    TOO_MANY_PIXELS,
    TIMED_OUT,
    PROCESSOR_FAILED,
)

_UNREAD: Final = object()


class Publication:
    """`trouble` says why the last question had no answer."""

    __slots__ = (
        "_document",
        "_document_trouble",
        "_number",
        "_number_read",
        "_text",
        "_text_read",
        "_valid_until",
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
    ) -> None:
        self.topic = topic
        self.payload = payload
        self.expires_at = expires_at  # 0 without a Message Expiry Interval
        self.properties = properties
        self.trouble = ""
        self._number = 0.0
        self._number_read = False
        self._text: str | None = None
        self._text_read = False
        self._document: object = _UNREAD
        self._document_trouble = ""
        self._valid_until = 0.0

    def as_number(self, field: Field | None) -> float:
        """A finite number, or NaN with `trouble` set."""
        if field is not None:
            return self._field_as_number(field)
        if not self._number_read:
            self._number = read_number(self.payload)
            self._number_read = True
        value = self._number
        if value - value == 0.0:
            return value
        self.trouble = NOT_NUMERIC if value != value else NOT_FINITE
        return NAN

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
            try:
                self._text = self.payload.decode()
            except UnicodeDecodeError:
                self._text = None
        if self._text is None:
            self.trouble = NOT_UTF8
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
            self._document_trouble = NOT_UTF8
            return
        try:
            self._document = read_document(text)
        except RecursionError:
            self._document_trouble = TOO_DEEP
        except ValueError:
            self._document_trouble = NOT_JSON
