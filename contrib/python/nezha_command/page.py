# SPDX-License-Identifier: BSD-3-Clause
"""The report's page: one HTML file with everything in it, nothing is fetched."""

import html

from . import zoom

_STYLE = """
:root { color-scheme: light dark; --ink: #1d1d1f; --paper: #fff; --faint: #666; --line: #ddd; --row: #eee; --rule: #999;
        --warn: #fff3cd; --warn-line: #e0c060; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e4e6; --paper: #1b1b1d; --faint: #a0a0a5; --line: #444; --row: #333; --rule: #777;
        --warn: #3d3413; --warn-line: #7d6a20; } }
body { font: 15px/1.5 system-ui, "DejaVu Sans", sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto;
       max-width: 1080px; padding: 28px 20px 60px; }
h1 { font-size: 26px; margin: 0 0 4px; } h2 { font-size: 19px; margin: 36px 0 6px; border-top: 1px solid var(--line); padding-top: 18px; }
p { margin: 6px 0; max-width: 78ch; } .sub { color: var(--faint); }
.tiles { display: flex; flex-wrap: wrap; gap: 12px; margin: 18px 0 6px; }
.tile { border: 1px solid var(--line); border-radius: 8px; padding: 10px 16px; min-width: 130px; }
.tile b { display: block; font-size: 22px; line-height: 1.25; } .tile span { color: var(--faint); font-size: 13px; }
.verdict { font-size: 17px; border-left: 4px solid #1f77b4; padding: 2px 0 2px 12px; margin: 14px 0; max-width: 78ch; }
.warn { background: var(--warn); border: 1px solid var(--warn-line); border-radius: 6px; padding: 8px 12px; margin: 10px 0; }
figure { margin: 18px 0 12px; } figcaption { font-weight: 600; font-size: 14px; margin-bottom: 4px; }
.picture { overflow-x: auto; background: #fff; border-radius: 6px; }
svg { width: 100%; min-width: 600px; height: auto; display: block; cursor: crosshair; }
.frame { fill: #1f77b422; stroke: #1f77b4; stroke-width: 0.5; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: 14px; margin: 10px 0; }
th, td { padding: 3px 12px 3px 0; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--row); }
th { font-weight: 600; border-bottom: 1px solid var(--rule); } th.text, td.text { text-align: left; }
td.text:first-child { white-space: normal; min-width: 11em; }
summary { color: var(--faint); cursor: pointer; } pre { white-space: pre-wrap; font-size: 13px; margin: 6px 0 6px 16px; }
footer { margin-top: 48px; color: var(--faint); font-size: 13px; }
"""


class Page:
    """Collects parts; text is escaped, SVG is taken as it is."""

    def __init__(self, title, subtitle):
        self._title = title
        self._head = [f"<h1>{html.escape(title)}</h1><p class=sub>{html.escape(subtitle)}</p>"]
        self._parts = []
        self._has_pictures = False

    def verdict(self, text):
        """A sentence at the top of the page."""
        self._head.append(f"<p class=verdict>{html.escape(text)}</p>")

    def heading(self, text):
        self._parts.append(f"<h2>{html.escape(text)}</h2>")

    def say(self, text):
        self._parts.append(f"<p>{html.escape(text)}</p>")

    def warn(self, text):
        self._parts.append(f"<div class=warn>{html.escape(text)}</div>")

    def tiles(self, pairs):
        """(large text, small text) each."""
        tiles = "".join(f"<div class=tile><b>{html.escape(large)}</b><span>{html.escape(small)}</span></div>"
                        for large, small in pairs)
        self._parts.append(f"<div class=tiles>{tiles}</div>")

    def details(self, summary, lines):
        """Lines as they are, which show when `summary` is clicked."""
        text = html.escape("\n".join(lines))
        self._parts.append(f"<details><summary>{html.escape(summary)}</summary><pre>{text}</pre></details>")

    def svg(self, text, caption):
        """Drawn for white paper, which it keeps on a dark page."""
        self._has_pictures = True
        self._parts.append(f"<figure><figcaption>{html.escape(caption)}</figcaption><div class=picture>{text}</div></figure>")

    def table(self, columns, rows, text=()):
        """Columns named in `text` are aligned left."""
        classes = [" class=text" if name in text else "" for name in columns]
        head = "".join(f"<th{style}>{html.escape(name)}</th>" for name, style in zip(columns, classes))
        body = "".join("<tr>" + "".join(f"<td{style}>{html.escape(str(cell))}</td>" for cell, style in zip(row, classes)) +
                       "</tr>" for row in rows)
        self._parts.append(f"<div class=scroll><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>")

    def text(self, footer):
        hint, script = (f"<p class=sub>{zoom.SAYS}</p>", f"<script>{zoom.SCRIPT}</script>") if self._has_pictures else ("", "")
        return ("<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8>"
                '<meta name=viewport content="width=device-width, initial-scale=1">'
                f"<title>{html.escape(self._title)}</title><style>{_STYLE}</style></head>\n<body>" +
                "\n".join([*self._head, hint, *self._parts]) +
                f"\n<footer>{html.escape(footer)}</footer>{script}</body></html>\n")
