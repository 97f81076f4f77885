"""One broker of ours on a real socket for all the foreign clients."""

from collections.abc import Iterator

import pytest

from tests.support.running_broker import running_gossamer


@pytest.fixture(scope="package")
def port() -> Iterator[int]:
    with running_gossamer() as port:
        yield port
