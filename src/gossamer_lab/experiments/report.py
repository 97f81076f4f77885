"""The report: one HTML page from the tables of results, and its pictures beside it.

For each experiment its figures, its claims, and how it was run; the headline claims stand in one
table at the top. The page holds everything that it shows; nothing is loaded from elsewhere.
"""

from __future__ import annotations

import os
import platform
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import gossamer
from gossamer_lab.experiments.experiment import Claim, Experiment, Figure
from gossamer_lab.experiments.run import ExperimentPlan, is_compiled, plan

PNG_DPI: Final = 120
PAGE_DPI: Final = 112
# A sign beside the word: nobody has to see a colour.
VERDICTS: Final = {"holds": "✓ holds", "differs": "≠ differs", "missed": "✗ missed"}
_COLUMNS: Final = ("claim", "printed", "ours", "", "why")

STYLE: Final = """
:root { color-scheme: light; --ink: #1c1f24; --soft: #5b6470; --rule: #d9dde3; --pale: #f5f7f9; }
* { box-sizing: border-box; }
body { margin: 0; font: 16px/1.55 system-ui, "DejaVu Sans", sans-serif; color: var(--ink); }
main { max-width: 70rem; margin: 0 auto; padding: 2rem 1.25rem 5rem; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.45rem; margin: 3.5rem 0 .3rem; border-top: 2px solid var(--ink);
     padding-top: .8rem; }
h3 { font-size: 1.08rem; margin: 0 0 .3rem; }
p { margin: .45rem 0; max-width: 52rem; }
.soft { color: var(--soft); }
.source { color: var(--soft); font-style: italic; }
.remark { border-left: 4px solid var(--ink); background: var(--pale); padding: .7rem 1rem; }
nav ol { columns: 2; padding-left: 1.2rem; }
figure { margin: 1.6rem 0 2.2rem; padding: 1.1rem; border: 1px solid var(--rule);
         border-radius: 6px; }
figure img { height: auto; display: block; margin: .6rem auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; margin: .6rem 0; }
th { text-align: left; border-bottom: 2px solid var(--ink); padding: .3rem .6rem .3rem 0; }
td { vertical-align: top; border-bottom: 1px solid var(--rule); padding: .4rem .6rem .4rem 0; }
td.verdict { white-space: nowrap; font-weight: 600; }
code { font: .88em ui-monospace, "DejaVu Sans Mono", monospace; background: var(--pale);
       padding: .1em .35em; border-radius: 3px; }
pre { background: var(--pale); padding: .7rem 1rem; overflow-x: auto; border-radius: 4px; }
pre code { padding: 0; }
a { color: #0b5394; }
@media print { figure { break-inside: avoid; } nav { display: none; } }
"""


@dataclass(frozen=True)
class ReportSection:
    """One experiment: what it shows, or why it shows nothing."""

    plan: ExperimentPlan
    figures: list[Figure]
    problem: str = ""

    def headlines(self) -> list[Claim]:
        return [claim for figure in self.figures for claim in figure.claims if claim.headline]

    def total(self, column: str) -> float:
        """Of `seconds` or `processor_seconds`, over the cells."""
        return self.plan.table.total(column, self.plan.grid)


@dataclass
class ExperimentReport:
    scale: str
    sections: list[ReportSection]
    version: str = gossamer.__version__
    made: str = field(default_factory=lambda: datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"))
    machine: str = field(default_factory=lambda: _machine())
    remark: str = ""  # what a reader of this copy must know

    def total(self, column: str) -> float:
        return sum(section.total(column) for section in self.sections)


def gather(experiments: Iterable[Experiment], scale: str, folder: Path) -> ExperimentReport:
    """From the tables in that folder; what has not run is said, not left out."""
    return ExperimentReport(
        scale, [_gathered(plan(experiment, scale, folder)) for experiment in experiments]
    )


def _gathered(planned: ExperimentPlan) -> ReportSection:
    rows = planned.table.rows(planned.grid)
    if not len(rows):
        return ReportSection(planned, [], "it has not run at this scale")
    try:
        return ReportSection(planned, planned.experiment.figures(rows))
    except (LookupError, ValueError) as missing:
        problem = f"too few of its cells have run for its figures ({missing})"
        return ReportSection(planned, [], problem)


def _machine() -> str:
    core = "compiled core" if is_compiled() else "core not compiled"
    return (
        f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, {core}"
    )


def write(report: ExperimentReport, page: Path) -> Path:
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(html(report), encoding="utf-8")
    return page


def write_pictures(report: ExperimentReport, folder: Path) -> list[Path]:
    """Each figure as PNG, named after its experiment and place in it."""
    folder.mkdir(parents=True, exist_ok=True)
    return [
        _save_png(figure.drawing, folder / f"{section.plan.experiment.name}-{number}.png")
        for section in report.sections
        for number, figure in enumerate(section.figures, 1)
    ]


def html(report: ExperimentReport) -> str:
    title = "Gossamer: the papers' figures, run again"
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title><style>{STYLE}</style></head><body><main>",
        f"<h1>{title}</h1>",
        *_head(report),
        *_headlines(report),
        *(part for section in report.sections for part in _section(section, report.scale)),
        "</main></body></html>",
    ]
    return "\n".join(parts) + "\n"


def _head(report: ExperimentReport) -> Iterable[str]:
    yield (
        "<p>Every evaluation of the papers that Gossamer is built on, run with the code that "
        "ships: what they printed, what we get, and where the two differ. This page is generated "
        "from tables of results; nothing in it is written by hand.</p>"
    )
    if report.remark:
        yield f'<p class="remark">{escape(report.remark)}</p>'
    clock, processor = (_duration(report.total(c)) for c in ("seconds", "processor_seconds"))
    yield (
        f'<p class="soft">Scale <b>{report.scale}</b>, version {escape(report.version)}, made '
        f"{report.made} on {escape(report.machine)}. One after the other, the cells took "
        f"{clock} by the clock and {processor} of processor time. To make it again:</p>"
    )
    yield (
        f"<pre><code>gossamer experiment run all --scale {report.scale}\n"
        f"gossamer experiment report --scale {report.scale}</code></pre>"
    )
    yield "<nav><ol>"
    for section in report.sections:
        name = section.plan.experiment.name
        yield f'<li><a href="#{name}">{escape(section.plan.experiment.title)}</a></li>'
    yield "</ol></nav>"


def _headlines(report: ExperimentReport) -> Iterable[str]:
    claims = [claim for section in report.sections for claim in section.headlines()]
    yield '<h2 id="headlines">Headline claims</h2>'
    if not claims:
        yield "<p>No experiment has run far enough.</p>"
        return
    counts = {verdict: sum(c.verdict == verdict for c in claims) for verdict in VERDICTS}
    told = ", ".join(f"{count} {VERDICTS[name]}" for name, count in counts.items() if count)
    yield (
        f"<p>{len(claims)} claims: {told}. Where a paper leaves a parameter open, our reading "
        "of it is named beside the figure.</p>"
    )
    yield from _table(claims)


def _table(claims: Iterable[Claim]) -> Iterable[str]:
    yield "<table><thead><tr>" + "".join(f"<th>{name}</th>" for name in _COLUMNS) + "</tr></thead>"
    for claim in claims:
        cells = (claim.claim, claim.printed, claim.ours)
        told = "".join(f"<td>{escape(text)}</td>" for text in cells)
        verdict = f'<td class="verdict">{VERDICTS[claim.verdict]}</td>'
        because = "" if claim.holds else escape(claim.because)
        yield f"<tr>{told}{verdict}<td>{because}</td></tr>"
    yield "</table>"


def _section(section: ReportSection, scale: str) -> Iterable[str]:
    experiment = section.plan.experiment
    yield f'<h2 id="{experiment.name}">{escape(experiment.title)}</h2>'
    yield f'<p class="source">{escape(experiment.source)}</p><p>{escape(experiment.about)}</p>'
    if section.problem:
        yield f'<p class="remark">Nothing to show: {escape(section.problem)}.</p>'
    for figure in section.figures:
        yield from _figure(figure)
    grid = section.plan.grid
    seeds = _seeds(sorted({cell.seed for cell in grid}))
    clock, processor = (_duration(section.total(c)) for c in ("seconds", "processor_seconds"))
    yield (
        f'<p class="soft">{section.plan.finished} of {len(grid)} cells, {seeds}, '
        f"{clock} ({processor} of processor time). Again: "
        f"<code>gossamer experiment run {experiment.name} --scale {scale} --again</code></p>"
    )


def _figure(figure: Figure) -> Iterable[str]:
    yield f"<figure><h3>{escape(figure.name)}. {escape(figure.title)}</h3>"
    if figure.says:
        yield f"<p><b>The paper:</b> {escape(figure.says)}</p>"
    caption = escape(f"{figure.name}: {figure.title}")
    limit = f"max-width: min(100%, {_width(figure.drawing)}px)"
    yield f'<img alt="{caption}" style="{limit}" src="{_inline(figure.drawing)}">'
    if figure.note:
        yield f'<p class="soft">{escape(figure.note)}</p>'
    if figure.claims:
        yield from _table(figure.claims)
    yield "</figure>"


def _seeds(seeds: list[int]) -> str:
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    if seeds == list(range(seeds[0], seeds[-1] + 1)):
        return f"seeds {seeds[0]} to {seeds[-1]}"
    return "seeds " + ", ".join(str(seed) for seed in seeds)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def _inline(drawing: Any) -> str:
    """For the source of an image in the page."""
    data = BytesIO()
    # Without a date the same figure is the same file.
    drawing.savefig(data, format="svg", metadata={"Date": None})
    return "data:image/svg+xml;base64," + b64encode(data.getvalue()).decode()


def _width(drawing: Any) -> int:
    """In pixels of the page, so that text is as large in a small figure as in a wide one."""
    return int(drawing.get_figwidth() * PAGE_DPI)


def _save_png(drawing: Any, path: Path) -> Path:
    drawing.savefig(path, format="png", dpi=PNG_DPI)
    return path
