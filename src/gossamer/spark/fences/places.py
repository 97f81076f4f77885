"""Where a row is: at a position, which built-in functions find, or somewhere that only GLP says."""

import json
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from gossamer.geo.areas import GlpError
from gossamer.geo.glp import parse
from gossamer.geo.glp_entries import FORMS, LINE_KEYS
from gossamer.geo.located import Place, place_of

# In the JSON of the column `glp`, the entries that make an area.
_AREA_ENTRY: Final = f'"(?:{"|".join((*FORMS, *LINE_KEYS))})"'


def is_position() -> Column:
    """Whether the row is at `lat`, `lon`: it says so, and speaks of no area."""
    lat, lon = F.col("lat"), F.col("lon")
    on_earth = lat.between(-90.0, 90.0) & lon.between(-180.0, 180.0)
    return F.coalesce(on_earth, F.lit(False)) & ~_speaks_of_areas()


def needs_reading() -> Column:
    """Whether only the GLP itself can tell where the row is."""
    return F.col("glp").isNotNull() & (_speaks_of_areas() | F.col("lat").isNull())


def _speaks_of_areas() -> Column:
    return F.coalesce(F.col("glp").rlike(_AREA_ENTRY), F.lit(False))


def read_place(glp: str) -> Place | None:
    """None if it says nothing, or nothing that can be read, as in the broker."""
    try:
        return place_of(parse([(str(key), str(text)) for key, text in json.loads(glp)]), None)
    except (GlpError, ValueError, TypeError):
        return None
