"""Images made to hurt: each costs at most its own result."""

import asyncio
import random

import pytest

from gossamer.vision.settings import WorkerSettings
from tests.support.images import (
    encoded,
    jpeg_claiming,
    png_of_zeros,
    png_with_text_bomb,
    webp_claiming,
)
from tests.support.pools import asking

pytestmark = pytest.mark.processes

GOOD = encoded("png", 30, 20)

HOSTILE = {
    "20,000 × 20,000 pixels": (png_of_zeros(20_000, 20_000, 1), ["!too_many_pixels"]),
    "a size that no memory holds": (png_of_zeros(2**31 - 1, 2**31 - 1, 0), ["!too_many_pixels"]),
    "a JPEG that claims to be huge": (jpeg_claiming(65_000, 65_000), ["!too_many_pixels"]),
    "a WebP that claims to be huge": (webp_claiming(1 << 24, 1 << 24), ["!too_many_pixels"]),
    "rows missing": (png_of_zeros(5_000, 5_000, 10), ["!not_an_image", "[5000,5000]"]),
    "a comment that unpacks to 300 MB": (png_with_text_bomb(300), ["!not_an_image", "[1,1]"]),
    "a JPEG larger than its data": (jpeg_claiming(4_000, 4_000), ["!not_an_image", "[4000,4000]"]),
    "a WebP without its data": (webp_claiming(100, 100), ["!not_an_image"]),
    "no image at all": (b"21.5", ["!not_an_image"]),
    "nothing": (b"", ["!not_an_image"]),
}


def test_hostile_images_cost_one_result_each() -> None:
    async def scenario() -> None:
        async with asking() as pool:
            for name, (data, expected) in HOSTILE.items():
                (answer,) = await pool.ask(data, "SIZE")
                assert answer in expected, name
                assert await pool.ask(GOOD, "SIZE") == ["[30,20]"], name

    asyncio.run(scenario())


def test_what_decodes_to_more_than_the_memory_allowed_costs_one_result() -> None:
    settings = WorkerSettings(".", memory=64 << 20, pixels=200_000_000)

    async def scenario() -> None:
        async with asking(settings=settings) as pool:
            assert await pool.ask(png_of_zeros(12_000, 12_000), "SIZE") == ["!processor_failed"]
            assert await pool.ask(GOOD, "SIZE") == ["[30,20]"]

    asyncio.run(scenario())


@pytest.mark.parametrize("format", ["jpg", "png", "webp"])
def test_damaged_images_are_read_or_skipped(format: str) -> None:
    chance = random.Random(format)
    whole = encoded(format, 64, 48)
    reasons = {"!not_an_image", "!too_many_pixels", "!processor_failed"}

    async def scenario() -> None:
        async with asking() as pool:
            for _ in range(60):
                data = bytearray(whole)
                for _ in range(chance.randint(1, 12)):
                    data[chance.randrange(len(data))] = chance.randrange(256)
                (answer,) = await pool.ask(bytes(data[: chance.randint(20, len(data))]), "SIZE")
                assert answer in reasons or answer.startswith("[")
            assert await pool.ask(GOOD, "SIZE") == ["[30,20]"]

    asyncio.run(scenario())
