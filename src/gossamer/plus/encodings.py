"""How payloads are read that are neither plain text nor JSON: as the JSON that says the same.

So rules, aggregates and fields, here and in Spark, know one form only. What a rule forwards is the
payload as it was published.
"""

import json
from typing import Final

from gossamer.plus.cbor import read_cbor
from gossamer.plus.limits import MAX_JSON_BYTES
from gossamer.plus.sparkplug import read_sparkplug
from gossamer.topics.containment import meet
from gossamer.topics.names import matches

PLAIN: Final = ""
CBOR: Final = "cbor"
SPARKPLUG: Final = "sparkplug"
AUTO: Final = "auto"  # what the publication's content type says
ENCODINGS: Final = (CBOR, SPARKPLUG, AUTO)

_CBOR_TYPE: Final = "application/cbor"
_CBOR_SUFFIX: Final = "+cbor"


class Encodings:
    """By topic filter, in order: the first that matches counts."""

    def __init__(self, filters: dict[str, str]) -> None:
        self._filters = list(filters.items())
        self.are_plain = not filters

    def find(self, topic: str, content_type: str | None) -> str:
        for filter, encoding in self._filters:
            if matches(filter, topic):
                return _by_type(content_type) if encoding == AUTO else encoding
        return PLAIN

    def touch(self, filter: str) -> bool:
        """Whether something that the filter matches may be read in another way than as it came."""
        return any(meet(known, filter) is not None for known, _ in self._filters)


def _by_type(content_type: str | None) -> str:
    if content_type is None:
        return PLAIN
    kind = content_type.partition(";")[0].strip().lower()
    return CBOR if kind == _CBOR_TYPE or kind.endswith(_CBOR_SUFFIX) else PLAIN


NO_ENCODINGS: Final = Encodings({})


def as_json(payload: bytes, encoding: str) -> bytes:
    """A text by itself comes without quotes, as it would be published in plain. ValueError for
    what the encoding is not, RecursionError if it is nested too deeply."""
    if len(payload) > MAX_JSON_BYTES:
        raise ValueError("too large")
    found = read_cbor(payload) if encoding == CBOR else read_sparkplug(payload)
    if isinstance(found, str):
        return found.encode("utf-8", "surrogatepass")
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "surrogatepass")
