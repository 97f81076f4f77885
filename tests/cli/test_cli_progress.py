"""Where there is no terminal, a long command says now and then how far it has come."""

import pytest

from gossamer.cli.progress import Advance


def test_lines_go_to_stderr_and_not_too_often(capsys: pytest.CaptureFixture[str]) -> None:
    with Advance("trials", 10, line_seconds=0.0) as often, Advance("kills", 10) as seldom:
        for number in range(3):
            often.show(number, "fine")
            seldom.show(number)
    shown = capsys.readouterr()
    assert shown.err.splitlines() == [f"trials: fine ({number} of 10)" for number in range(3)]
    assert shown.out == ""
