"""`$BY;sensor` groups what one topic publishes by a field of its JSON: each key is like a topic of
its own, one level below, where the filter has a `+` for it."""

from typing import Final

from gossamer.plus.operators.kinds import GroupKind
from gossamer.plus.plan import Field
from gossamer.plus.publication import TOPIC_TOO_LONG, Publication
from gossamer.plus.result_topics import fits
from gossamer.plus.sequence import Step
from gossamer.plus.state import OperatorState

# What a level of a topic cannot hold, and the sign that these are written with.
_ENCODED: Final = (("%", "%25"), ("/", "%2F"), ("+", "%2B"), ("#", "%23"), ("\0", "%00"))


class GroupStep(Step):
    def __init__(self, field: Field) -> None:
        super().__init__()
        self._field = field

    def take(
        self, owner: OperatorState, publication: Publication, now: float
    ) -> Publication | None:
        key = publication.as_key(self._field)
        if key is None:
            owner.services.skip(publication.trouble)
            return None
        for character, code in _ENCODED:
            key = key.replace(character, code)
        topic = f"{publication.topic}/{key}"
        if not fits(topic):
            owner.services.skip(TOPIC_TOO_LONG)
            return None
        return publication.renamed(topic)


BY = GroupKind("BY", "groups by a field of JSON: each key is a level below the topic", GroupStep)
