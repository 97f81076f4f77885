"""`gossamer bench attacks` as small as it can be: it runs, and tells of every attack."""

import pytest

from gossamer.cli.main import run
from gossamer_lab.bench.attacks import measurement as measuring
from gossamer_lab.bench.attacks.measurement import AttackOutcome, Service, measure
from gossamer_lab.bench.attacks.shapes import ATTACKS


def test_a_real_broker_is_attacked_beside_a_bystander() -> None:
    found = measure("retained, large", 0.3)
    assert found.quiet.arrived == found.quiet.sent > 0
    assert found.attacked.arrived == found.attacked.sent > 0
    assert found.mib_before > 0
    assert found.mib_after > 0


def test_the_table_has_a_row_for_every_attack_and_states_what_is_missed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def told(name: str, _: float) -> AttackOutcome:
        attacked = Service(1.0, 9.0 if name == "slow reader" else 2.0, 2.0, 9.0, 10, 10)
        quiet = Service(0.5, 1.0, 1.0, 2.0, 10, 10)
        return AttackOutcome(name, quiet, attacked, 1.0, 2.0, {"routes": 7})

    monkeypatch.setattr(measuring, "measure", told)
    assert run(["bench", "attacks", "--quick"]) == 0
    output = capsys.readouterr().out
    for name in ATTACKS:
        assert output.count(f"| {name} |") == 1
    assert "Over 3 times quiet: slow reader (9.0×, usual 2.0×).\n" in output
