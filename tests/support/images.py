"""Images for tests: drawn ones in every format, and the headers of ones that would be huge."""

import struct
import zlib

import cv2
import numpy as np

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def encoded(format: str, width: int, height: int) -> bytes:
    """A picture of noise. `format` is jpg, png or webp."""
    pixels = np.random.default_rng(width * height).integers(0, 256, (height, width, 3), np.uint8)
    return bytes(cv2.imencode(f".{format}", pixels)[1])


def png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack("!I", len(data)) + kind + data + struct.pack("!I", zlib.crc32(kind + data))


def png_of_zeros(width: int, height: int, rows: int | None = None) -> bytes:
    """One bit a pixel, all black: a few kilobytes however large. `rows` may be fewer than told."""
    header = struct.pack("!IIBBBBB", width, height, 1, 0, 0, 0, 0)
    packer = zlib.compressobj(9)
    line = bytes(1 + (width + 7) // 8)
    body = b"".join(packer.compress(line) for _ in range(height if rows is None else rows))
    return (
        PNG_SIGNATURE
        + png_chunk(b"IHDR", header)
        + png_chunk(b"IDAT", body + packer.flush())
        + png_chunk(b"IEND", b"")
    )


def png_with_text_bomb(megabytes: int) -> bytes:
    """A pixel, and a compressed comment that unpacks to much more."""
    text = b"Comment\0\0" + zlib.compress(bytes(megabytes << 20), 9)
    whole = png_of_zeros(1, 1)
    ends_at = len(PNG_SIGNATURE) + 25
    return whole[:ends_at] + png_chunk(b"zTXt", text) + whole[ends_at:]


def jpeg_claiming(width: int, height: int) -> bytes:
    """A JPEG file whose frame header says that size."""
    data = bytearray(encoded("jpg", 16, 16))
    at = data.index(b"\xff\xc0")
    data[at + 5 : at + 9] = struct.pack("!HH", height, width)
    return bytes(data)


def webp_claiming(width: int, height: int) -> bytes:
    """The extended header of a WebP file of that size, and little behind it."""
    sizes = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    chunk = b"VP8X" + struct.pack("<I", 10) + bytes(4) + sizes
    body = b"WEBP" + chunk + b"VP8 " + struct.pack("<I", 10) + bytes(10)
    return b"RIFF" + struct.pack("<I", len(body)) + body
