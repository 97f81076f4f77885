"""Functions that run on the executors, on columns of whole Arrow batches."""

from collections.abc import Callable

import pandas as pd
from pyspark.sql import Column
from pyspark.sql.pandas.functions import pandas_udf
from pyspark.sql.types import DataType


def vectorised(function: Callable[..., pd.Series], returns: DataType) -> Callable[..., Column]:
    """Made where it is used: what kind of session there is, is not known when modules load."""
    made: Callable[..., Column] = pandas_udf(function, returns)  # type: ignore[call-overload]
    return made


def unrepeated(
    function: Callable[..., pd.Series | pd.DataFrame], returns: str
) -> Callable[..., Column]:
    """For functions that cost much: Spark must not compute them again where a result is used."""
    made = pandas_udf(function, returns)  # type: ignore[call-overload]
    once: Callable[..., Column] = made.asNondeterministic()
    return once
