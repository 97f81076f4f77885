"""What a payload looks like to a person, and what counts as a number, an image, a position."""

import pytest

from gossamer.console.broker_watch import MetricRates, read_metrics
from gossamer.console.map_model import MOST_TRACKS, Tracks, position_of
from gossamer.console.parts.figures import points, short, size, span
from gossamer.console.payloads import as_number, preview, show
from gossamer.console.topic_model import SeenTopic

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


@pytest.mark.parametrize(
    ("payload", "kind", "text"),
    [
        (b"", "empty", ""),
        (b"21.5", "number", "21.5"),
        (b"NaN", "text", "NaN"),
        (b'{"a":[1]}', "json", '{\n  "a": [\n    1\n  ]\n}'),
        (b'{"a":', "text", '{"a":'),
        (b"<svg onload=alert(1)>", "text", "<svg onload=alert(1)>"),
        (b"\xff\x00", "binary", "0000  ff 00"),
        (b"[" * 100_000, "text", None),
    ],
)
def test_payloads(payload: bytes, kind: str, text: str | None) -> None:
    shown = show(payload)
    assert shown.kind == kind
    assert text is None or shown.text == text


def test_images_are_told_by_their_bytes() -> None:
    assert show(PNG).text.startswith("data:image/png;base64,")
    assert preview(PNG) == "image/png, 28 bytes"


@pytest.mark.parametrize(
    ("payload", "number"), [(b"7", 7.0), (b"1e999", None), (b"0x10", None), (b"1" * 100, None)]
)
def test_numbers(payload: bytes, number: float | None) -> None:
    assert as_number(payload) == number


@pytest.mark.parametrize(
    ("payload", "user", "position"),
    [
        (b"x", (("gpl_current_pos", "43.7;10.4"),), (43.7, 10.4)),
        (b"x", (("gpl_current_pos", "91;0"),), None),
        (b"x", (("gpl_current_pos", "nan;0"),), None),
        (b'{"lat": 1, "lon": 2}', (), (1.0, 2.0)),
        (b'{"latitude": 1, "longitude": "x"}', (), None),
        (b'{"lat": [1], "lon": 2}', (), None),
        (b"{", (), None),
    ],
)
def test_positions(
    payload: bytes, user: tuple[tuple[str, str], ...], position: tuple[float, float] | None
) -> None:
    assert position_of(SeenTopic("t", payload, 0, False, 0.0, "", user)) == position


def test_the_track_that_was_silent_longest_gives_way() -> None:
    tracks = Tracks()
    for number in range(MOST_TRACKS + 1):
        tracks.add(SeenTopic(f"van{number}", b'{"lat": 1, "lon": 2}', 0, False, float(number)))
    assert len(tracks.by_topic) == MOST_TRACKS
    assert "van0" not in tracks.by_topic


def test_metrics_become_numbers_and_rates() -> None:
    text = 'gossamer_link_queued{neighbour="a"} 2\ngossamer_link_queued{neighbour="b"} 3\n'
    assert read_metrics(text) == {"link_queued": 5.0}
    rates = MetricRates(("n",))
    for at, value in ((0.0, 10.0), (2.0, 30.0), (3.0, 5.0)):
        rates.add({"n": value}, at)
    assert list(rates.history["n"]) == [10.0, 5.0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (short(0.5), "0.5"),
        (short(12_345), "12.3 k"),
        (size(999), "999 B"),
        (size(2_500_000), "2.5 MB"),
        (span(59), "59 s"),
        (span(3700), "1 h 1 min"),
        (span(200_000), "2 d 7 h"),
        (points([1.0]), ""),
        (points([1.0, 1.0]), "0.0,12.0 100.0,12.0"),
    ],
)
def test_figures(text: str, expected: str) -> None:
    assert text == expected
