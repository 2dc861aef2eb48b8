"""Figures on README and the pages match the measured tables."""

import pytest
import quoted_comparisons
import quoted_deep_forests
import quoted_models
import quoted_studies
import quotes
from quoted_comparisons import league_ranks
from quoted_models import COPIES

PAGES = {
    **quoted_comparisons.PAGES,
    **quoted_deep_forests.PAGES,
    **quoted_models.PAGES,
    **quoted_studies.PAGES,
}


@pytest.mark.parametrize("page", PAGES)
def test_quoted_figures_match_the_tables(page):
    wrong = []
    for quote in PAGES[page]():
        for figure, exact in zip(quotes.figures(page, quote.text), quote.values, strict=True):
            if not quotes.agrees(figure, exact):
                wrong.append(f"{figure} must be {exact:.4g} in: {quote.text}")
    assert wrong == []


@pytest.mark.parametrize("copy", COPIES, ids=lambda copy: f"{copy.page} {copy.after}")
def test_repeated_tables_are_equal(copy):
    output = quotes.table(copy.page, copy.after)
    sources = copy.source()
    for row in output.rows:
        labels = (*copy.prefix, *row[: copy.labels])
        (source,) = [
            (table, result)
            for table in sources
            for result in table.rows
            if tuple(result[: len(labels)]) == labels
        ]
        table, measured = source
        for name, original in copy.columns.items():
            cell = row[output.columns.index(name)]
            assert cell == measured[table.columns.index(original)], (labels, name)


@pytest.mark.parametrize(
    ("figure", "exact", "right"),
    [
        ("1.6", 1.61, True),
        ("1.6", 1.66, False),
        ("1.60", 1.61, False),
        ("two", 2, True),
        ("two", 3, False),
        ("20 000", 20000, True),
        ("280", 279.6, True),
        ("0.20", 0.204, True),
        ("0.20", 0.206, False),
    ],
)
def test_figures_are_compared_to_their_written_precision(figure, exact, right):
    assert quotes.agrees(figure, exact) == right


def test_a_changed_table_is_noticed(monkeypatch):
    """A quoted rank is refused after the table has changed."""
    page, league = "docs/index.md", "docs/results/league.md"
    rank = league_ranks().at("DeepForest", "log-loss")
    read = quotes.read

    def changed(name):
        text = read(name)
        return text.replace(f"| {rank} |", "| 9.99 |") if name == league else text

    monkeypatch.setattr(quotes, "read", changed)
    with pytest.raises(AssertionError, match=r"must be 9\.99"):
        test_quoted_figures_match_the_tables(page)


def test_sentences_are_found_across_lines(monkeypatch):
    monkeypatch.setattr(quotes, "read", lambda page: "It takes 1.5 s,\nthe other 20 000 s.\n")
    assert quotes.figures("page", "takes {} s, the other {} s") == ["1.5", "20 000"]
    with pytest.raises(AssertionError, match="has 0 times"):
        quotes.figures("page", "it took {} s")
