"""The page: a head, the headline claims as one table, then a section for each experiment."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Final

from gossamer_lab.experiments.experiment import Claim, Figure
from gossamer_lab.experiments.report.content import ExperimentReport, ReportSection
from gossamer_lab.experiments.report.pictures import inline, width
from gossamer_lab.experiments.report.style import STYLE

# A sign beside the word: nobody has to see a colour.
VERDICTS: Final = {"holds": "✓ holds", "differs": "≠ differs", "missed": "✗ missed"}
_COLUMNS: Final = ("claim", "printed", "ours", "", "why")


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
    yield (
        f'<p class="soft">Scale <b>{report.scale}</b>, version {escape(report.version)}, made '
        f"{report.made} on {escape(report.machine)}. One after the other, the cells took "
        f"{_duration(report.seconds)} by the clock and {_duration(report.processor_seconds)} of "
        "processor time. To make it again:</p>"
    )
    yield (
        f"<pre><code>gossamer experiment run all --scale {report.scale}\n"
        f"gossamer experiment report --scale {report.scale}</code></pre>"
    )
    yield "<nav><ol>"
    for section in report.sections:
        name = section.experiment.name
        yield f'<li><a href="#{name}">{escape(section.experiment.title)}</a></li>'
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
    experiment = section.experiment
    yield f'<h2 id="{experiment.name}">{escape(experiment.title)}</h2>'
    yield f'<p class="source">{escape(experiment.source)}</p><p>{escape(experiment.about)}</p>'
    if section.problem:
        yield f'<p class="remark">Nothing to show: {escape(section.problem)}.</p>'
    for figure in section.figures:
        yield from _figure(figure)
    seeds = _seeds(section.seeds)
    yield (
        f'<p class="soft">{section.finished} of {section.cells} cells, {seeds}, '
        f"{_duration(section.seconds)} ({_duration(section.processor_seconds)} of processor time). "
        "Again: "
        f"<code>gossamer experiment run {experiment.name} --scale {scale} --again</code></p>"
    )


def _figure(figure: Figure) -> Iterable[str]:
    yield f"<figure><h3>{escape(figure.name)}. {escape(figure.title)}</h3>"
    if figure.says:
        yield f"<p><b>The paper:</b> {escape(figure.says)}</p>"
    caption = escape(f"{figure.name}: {figure.title}")
    limit = f"max-width: min(100%, {width(figure.drawing)}px)"
    yield f'<img alt="{caption}" style="{limit}" src="{inline(figure.drawing)}">'
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
