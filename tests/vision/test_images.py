"""Width and height from the first bytes, for every image and for nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.vision.images import BadImage, decode, dimensions
from tests.support.images import encoded, jpeg_claiming, png_of_zeros, webp_claiming

FORMATS = ("jpg", "png", "webp")


@pytest.mark.parametrize("format", FORMATS)
@given(width=st.integers(1, 90), height=st.integers(1, 90))
def test_the_header_says_what_the_decoder_finds(format: str, width: int, height: int) -> None:
    data = encoded(format, width, height)
    assert dimensions(data) == (width, height)
    assert decode(data, width * height).shape == (height, width, 3)


@pytest.mark.parametrize(
    "data",
    [png_of_zeros(20_000, 20_000, 1), jpeg_claiming(20_000, 20_000), webp_claiming(16_000, 9_000)],
    ids=FORMATS,
)
def test_huge_ones_are_refused_before_they_are_decoded(data: bytes) -> None:
    with pytest.raises(BadImage) as caught:
        decode(data, 25_000_000)
    assert caught.value.reason == "too_many_pixels"


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_that_ends_too_soon_is_no_image(format: str) -> None:
    data = encoded(format, 40, 30)
    for length in range(34):
        with pytest.raises(BadImage) as caught:
            decode(data[:length], 10_000)
        assert caught.value.reason == "not_an_image"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"21.5",
        b"GIF89a" + bytes(40),
        b"\xff\xd8\xff",
        b"\xff\xd8\xff" + b"\xff" * 5_000,
        b"\xff\xd8\xff\xe0" + b"\x00\x02\xff\xe0" * 5_000,
        b"\xff\xd8\xff\xe0\x00\x00" + bytes(100),
        jpeg_claiming(0, 10),
        jpeg_claiming(10, 0),
        b"RIFF\x00\x00\x00\x00WEBPVP9 " + bytes(40),
        b"RIFF\x00\x00\x00\x00WEBPVP8L" + bytes(40),
        b"RIFF\x00\x00\x00\x00WEBPVP8 " + bytes(40),
    ],
)
def test_what_is_no_image_is_told(data: bytes) -> None:
    with pytest.raises(BadImage) as caught:
        decode(data, 10_000)
    assert caught.value.reason == "not_an_image"


@given(
    start=st.sampled_from([b"", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"RIFF0000WEBPVP8X"]),
    rest=st.binary(max_size=200),
)
def test_any_bytes_are_read_or_refused(start: bytes, rest: bytes) -> None:
    try:
        width, height = dimensions(start + rest)
    except BadImage:
        return
    assert width > 0
    assert height > 0
