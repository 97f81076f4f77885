"""The look of the page; nothing is loaded from elsewhere."""

from typing import Final

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
