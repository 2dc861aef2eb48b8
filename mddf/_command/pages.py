"""HTML pages from templates; a page is one file that loads nothing else."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .extras import need

if TYPE_CHECKING:
    from markupsafe import Markup

# Text of 13 pixels shrinks to 10 pixels, which is still readable.
_LEAST_SCALE = 0.77
_TEMPLATES = Path(__file__).with_name("templates")


def check_libraries() -> None:
    """End the command unless the libraries for pages are installed; draw without a display."""
    need("jinja2", "commands")
    need("matplotlib", "commands").use("agg")


def render_page(template: str, **content: object) -> str:
    """Fill a template; all text is escaped."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    environment.filters |= {"rounded": _rounded_cell, "quoted": repr}
    return environment.get_template(template).render(content)


def svg(figure: Any) -> Markup:
    """Markup of a matplotlib figure, which is closed; the same figure gives the same text.

    On narrow screens the picture shrinks until its text is just readable. Then its frame scrolls.
    """
    from markupsafe import Markup
    from matplotlib import pyplot

    file = io.StringIO()
    with pyplot.rc_context({"svg.hashsalt": "mddf", "svg.fonttype": "none"}):
        no_metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(file, format="svg", metadata=no_metadata)
    pyplot.close(figure)
    least_width = _LEAST_SCALE * figure.get_figwidth()
    # The XML declaration before the element has no place inside a page.
    start = f'<svg style="min-width: {least_width:.3g}in" '
    return Markup(re.sub(r"^.*?<svg ", start, file.getvalue(), count=1, flags=re.DOTALL))


def _rounded_cell(cell: object) -> object:
    if isinstance(cell, float | np.floating):
        return "" if np.isnan(cell) else f"{cell:.4g}"
    return cell


def cell_text(cell: object) -> str:
    """Write a cell: a number with six digits, a time with its date unless it is midnight."""
    if hasattr(cell, "isoformat"):
        return f"{cell:%Y-%m-%d %H:%M:%S}".removesuffix(" 00:00:00")
    return f"{cell:.6g}" if isinstance(cell, float | np.floating) else str(cell)
