"""HTML pages from templates."""

import re

import numpy as np
import pytest

from mddf._command import pages

pytest.importorskip("jinja2", reason='needs "mddf[commands]"')


def explained(**changes):
    content = {
        "title": "a & b",
        "model_name": "Model",
        "output": "target",
        "target": "y",
        "n_background": 3,
        "mean_sizes": [
            {"feature": "<x>", "mean size": np.float64(1 / 3)},
            {"feature": "empty", "mean size": np.nan},
            {"feature": "count", "mean size": np.int64(123456)},
        ],
        "rows": [],
    }
    return pages.render_page("explained.html", **(content | changes))


def test_tables_have_rounded_numbers_on_the_right_and_escaped_text():
    page = explained()
    assert page.startswith("<!DOCTYPE html>")
    assert "<h1>a &amp; b</h1>" in page
    assert "<td>&lt;x&gt;</td>" in page
    assert re.findall(r'<td class="number">(.*?)</td>', page) == ["0.3333", "", "123456"]
    assert re.findall(r"<th.*?</th>", page) == [
        "<th>feature</th>",
        '<th class="number">mean size</th>',
    ]


def test_pictures_are_elements_of_the_page():
    pyplot = pytest.importorskip("matplotlib.pyplot", reason='needs "mddf[plots]"')

    def picture():
        figure, axis = pyplot.subplots()
        axis.plot([1, 2])
        return pages.svg(figure)

    rows = [{"name": "row 1", "prediction": "1", "svg": picture(), "caption": 'base "0"'}]
    page = explained(rows=rows)
    assert page.count("<svg ") == 1
    assert 'aria-label="base &#34;0&#34;"' in page
    assert picture() == picture()
    assert not pyplot.get_fignums()


def test_templates_need_all_of_their_content():
    import jinja2

    with pytest.raises(jinja2.UndefinedError):
        pages.render_page("explained.html", title="a")
