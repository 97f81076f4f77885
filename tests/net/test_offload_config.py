"""`[plus.offload]`: what it may name, and what it needs."""

from pathlib import Path

import pytest

from gossamer.net.assembly import engine_of
from gossamer.net.config import ConfigError, parse
from gossamer.net.resolved_config import read_resolved, settings_of
from gossamer.plus.operators.kinds import ProcessorKind

ARCHIVE = '[store]\nkind = "memory"\n[archive]\nfolder = "{folder}"\n'
OFFLOAD = '[plus.offload]\noperators = {operators}\nwindows = "1 h"\nusers = ["spark"]\n'


def test_what_is_named_is_left_to_others(tmp_path: Path) -> None:
    text = ARCHIVE.format(folder=tmp_path) + OFFLOAD.format(operators='["RECOGNIZE", "DAILYP95"]')
    config = read_resolved(parse(text)).config
    kinds = [ProcessorKind(name, "", "json", "no models here") for name in ("RECOGNIZE", "CNTPPL")]
    engine = engine_of(config, kinds)
    assert engine.offloads is not None
    taken = ("$RECOGNIZE/x", "$DAILYP95/x", "$HOURLYAVG/x", "$SUM$DAILYMAX/+/x")
    own = ("$QUARTERHOURLYP95/x", "$P95/+/x", "$GT;3/x")
    assert [engine.offloads.takes(engine.parse(filter)) for filter in taken + own] == [
        *(True for _ in taken),
        *(False for _ in own),
    ]
    troubles = {kind.keyword: kind.trouble for kind in engine.vocabulary.processors.values()}
    assert troubles == {"RECOGNIZE": "", "CNTPPL": "no models here"}
    assert settings_of(config, config.limits).offload_users == ["spark"]


@pytest.mark.parametrize(
    ("operators", "has_archive", "complaint"),
    [
        ('["MEDAIN"]', True, "plus.offload.operators: 'MEDAIN' is no aggregate and no processor"),
        ('["GT"]', True, "'GT' is no aggregate"),
        ('["P95"]', False, "plus.offload: whoever answers reads the archive; add [archive]"),
    ],
)
def test_what_it_needs(tmp_path: Path, operators: str, has_archive: bool, complaint: str) -> None:
    text = OFFLOAD.format(operators=operators)
    if has_archive:
        text = ARCHIVE.format(folder=tmp_path) + text
    with pytest.raises(ConfigError) as problem:
        read_resolved(parse(text))
    assert complaint in str(problem.value.problems)
