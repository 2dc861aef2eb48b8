"""Reports as one page of HTML that needs nothing else: text, tables, pictures as SVG."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from html import escape
from typing import Any

import numpy as np

from .extras import need

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1b1b1b; background: #fff;
       max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .8rem .2rem 0; text-align: left; border-bottom: 1px solid #ddd; }
td.number, th.number { text-align: right; }
.wide { overflow-x: auto; }
figure { margin: 1rem 0; } figure svg { max-width: 100%; height: auto; }
figcaption, .note { color: #555; font-size: .9rem; }
pre { background: #f4f4f4; padding: .8rem; overflow-x: auto; }
"""


def page(title: str, parts: Iterable[str]) -> str:
    """A page of parts, which are HTML already."""
    body = "\n".join(parts)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n{body}\n</body>\n</html>\n"
    )


def heading(text: str) -> str:
    return f"<h2>{escape(text)}</h2>"


def paragraph(text: str, kind: str = "") -> str:
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def code(text: str) -> str:
    return f"<pre><code>{escape(text)}</code></pre>"


def table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Cells of text, or of numbers, which are rounded and stand on the right."""
    names = list(head)
    body = [[(_shown(cell), _is_number(cell)) for cell in row] for row in rows]
    on_right = [any(cells[i][1] for cells in body) for i in range(len(names))]
    top = "".join(_cell("th", name, right) for name, right in zip(names, on_right, strict=True))
    lines = "\n".join(
        f"<tr>{''.join(_cell('td', text, number) for text, number in cells)}</tr>"
        for cells in body
    )
    return (
        f'<div class="wide"><table>\n<thead><tr>{top}</tr></thead>\n'
        f"<tbody>\n{lines}\n</tbody></table></div>"
    )


def picture(figure: Any, caption: str) -> str:
    """A figure of matplotlib, which is closed."""
    pyplot = need("matplotlib.pyplot", "commands")
    found = io.StringIO()
    with pyplot.rc_context({"svg.hashsalt": "mddf", "svg.fonttype": "none"}):
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(found, format="svg", metadata=nothing)
    pyplot.close(figure)
    svg = re.sub(r"^.*?(?=<svg )", "", found.getvalue(), flags=re.DOTALL)
    svg = svg.replace("<svg ", f'<svg role="img" aria-label="{escape(caption)}" ', 1)
    return f"<figure>\n{svg}\n<figcaption>{escape(caption)}</figcaption></figure>"


def _cell(tag: str, text: str, number: bool) -> str:
    return (
        f'<{tag} class="number">{escape(text)}</{tag}>'
        if number
        else (f"<{tag}>{escape(text)}</{tag}>")
    )


def _is_number(cell: Any) -> bool:
    return isinstance(cell, int | float | np.number) and not isinstance(cell, bool)


def _shown(cell: Any) -> str:
    if isinstance(cell, float | np.floating):
        return "" if np.isnan(cell) else f"{cell:.4g}"
    return str(cell)
