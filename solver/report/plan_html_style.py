"""How the page of a plan looks, in light and in dark."""

from __future__ import annotations

__all__ = ["STYLE"]

STYLE = """
:root {
  color-scheme: light dark;
  --page: #fdfdfc; --ink: #1d2023; --faint: #6a7178; --line: #dfe2e5; --panel: #f3f4f5; --room: #e6e8ea;
  --weights: #1f7a8c; --cache: #e09f3e; --other: #9a6fb0; --good: #1b7f3b; --bad: #b3261e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #15181b; --ink: #e4e7ea; --faint: #98a1a9; --line: #30363b; --panel: #1d2125; --room: #2a3035;
    --weights: #4fb3c6; --cache: #e6b566; --other: #b794cc; --good: #5fcf80; --bad: #f28b82;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 2rem 1.25rem 3rem; }
h1 { font-size: 1.35rem; line-height: 1.3; margin: 0 0 .5rem; overflow-wrap: anywhere; }
h1 .mark { margin-right: .35em; }
h2 { font-size: .8rem; font-weight: 600; letter-spacing: .06em; text-transform: uppercase; color: var(--faint);
  margin: 2rem 0 .5rem; }
h2 small { font-size: .85rem; font-weight: 400; letter-spacing: 0; text-transform: none; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-weight: 500; color: var(--faint); font-size: .85rem; }
th.right, td.right { text-align: right; }
td.name { font-weight: 600; max-width: 20rem; overflow: hidden; text-overflow: ellipsis; }
tbody tr:last-child td { border-bottom: 0; }
.stages table { width: 100%; }
.stages td.bar { width: 32%; min-width: 9rem; }
svg.bar { display: block; width: 100%; height: .85rem; border-radius: 3px; background: var(--room); }
.weights { fill: var(--weights); background: var(--weights); }
.cache { fill: var(--cache); background: var(--cache); }
.other { fill: var(--other); background: var(--other); }
.key { color: var(--faint); font-size: .85rem; margin: .5rem 0 0; }
.key span { display: inline-block; width: .7em; height: .7em; border-radius: 2px; margin: 0 .35em 0 .9em; }
.key span:first-child { margin-left: 0; }
.good { color: var(--good); } .bad { color: var(--bad); } .faint { color: var(--faint); } .title { font-weight: 600; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1.2rem; margin: 0; }
section + dl { margin-top: .75rem; }
dt { color: var(--faint); } dd { margin: 0; overflow-wrap: anywhere; }
ol, ul { padding-left: 1.3rem; margin: .3rem 0; } li { overflow-wrap: anywhere; }
footer { margin-top: 2.5rem; color: var(--faint); font-size: .85rem; }
details { margin-top: .75rem; } summary { cursor: pointer; }
pre { background: var(--panel); color: var(--ink); border-radius: 6px; padding: 1rem; overflow: auto; max-height: 32rem;
  font: 12px/1.45 ui-monospace, monospace; }
@media print { details { display: none; } }
"""
