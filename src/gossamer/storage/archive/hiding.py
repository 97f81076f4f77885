"""Positions that a reader may not see are null for it, as subscribers get messages without them."""

from collections.abc import Callable
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from gossamer.storage.archive.schema import SCHEMA

LOCATION: Final = ("lat", "lon", "glp")

MayLocate = Callable[[str], bool]


class PositionGuard:
    """For batches of one schema. Who published decides: where that is not known, nobody sees."""

    def __init__(self, schema: pa.Schema, may_locate: MayLocate | None) -> None:
        self.schema = schema
        self.hidden = [name for name in LOCATION if name in schema.names] if may_locate else []
        self._may_locate = may_locate
        self._known: dict[str | None, bool] = {None: False}

    def needed(self) -> pa.Schema:
        """What has to be read."""
        if not self.hidden or "user" in self.schema.names:
            return self.schema
        return self.schema.append(SCHEMA.field("user"))

    def shown(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """What may be sent."""
        if not self.hidden:
            return batch
        users = batch.column("user").dictionary_encode()
        visible = pc.take(
            pa.array([self._sees(user) for user in users.dictionary.to_pylist()], pa.bool_()),
            users.indices,
        ).fill_null(False)
        columns = [
            pc.if_else(visible, batch.column(field.name), pa.scalar(None, field.type))
            if field.name in self.hidden
            else batch.column(field.name)
            for field in self.schema
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _sees(self, user: str | None) -> bool:
        known = self._known.get(user)
        if known is None:
            assert user is not None
            known = self._may_locate is None or self._may_locate(user)
            self._known[user] = known
        return known
