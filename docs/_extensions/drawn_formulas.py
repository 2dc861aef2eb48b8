r"""Draws formulas as SVG when the pages are built: readers need no script, font or network.

MathML would do without a package, but browsers draw its roots and braces wrongly where no font for
mathematics is installed. A formula that ziamath does not understand fails the build.
"""

import html

import ziamath
from docutils import nodes
from sphinx.errors import ExtensionError

FONT_SIZE = 17  # pixels; next to text of 16 pixels, letters of both fonts have the same height


def _svg(node, inline):
    latex = node.astext()
    try:
        formula = ziamath.Latex(latex, size=FONT_SIZE, color="currentColor", inline=inline)
        if "\\" in formula.mathmlstr():
            raise ValueError("it has an unknown command")
    except Exception as error:  # of many types
        place = f"{node.source}:{node.line}"
        raise ExtensionError(f"{place}: cannot draw the formula {latex!r}: {error}") from error
    attributes = (
        f'role="img" aria-label="{html.escape(latex)}" '
        f'style="vertical-align: {formula.getyofst():.2f}px"'
    )
    return formula.svg().replace("<svg ", f"<svg {attributes} ", 1)


def _visit_inline(writer, node):
    writer.body.append(_svg(node, inline=True))
    raise nodes.SkipNode


def _visit_block(writer, node):
    writer.body.append(f'<div class="formula">{_svg(node, inline=False)}</div>\n')
    raise nodes.SkipNode


def setup(app):
    """Register the renderer as the one that Sphinx takes."""
    ziamath.config.precision = 2  # pixels have no more; the pages are half as large
    app.add_html_math_renderer("drawn", (_visit_inline, None), (_visit_block, None))
    app.config.html_math_renderer = "drawn"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
