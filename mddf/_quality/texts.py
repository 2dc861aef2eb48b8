"""Columns of texts: their words, labels that are written in them, and spellings of one value."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from mddf._quality.columns import DataColumn
from mddf._quality.target import CheckedTarget

# Splitting texts into words takes 10 ms for this many rows of ten words.
MAX_ROWS = 2000
# Words of fewer rows than these say little about a class.
_MIN_ROWS_OF_WORD = 10
# The most frequent words suffice: a word that tells the target is frequent.
_MAX_WORDS = 500
_WORD = re.compile(r"\w+(?:\.\d+)?")
# Texts with as many words on average are sentences rather than keys or names. Not tuned.
_MIN_WORDS_OF_SENTENCE = 4


def words_of(text: str) -> set[str]:
    """Words and numbers of a text, in lower case."""
    return set(_WORD.findall(text.lower()))


def words_by_row(column: DataColumn) -> list[set[str]]:
    """Words of each cell; none of missing cells."""
    assert column.codes is not None
    return [
        words_of(str(column.levels[code])) if code >= 0 else set()
        for code in column.codes.tolist()
    ]


def are_sentences(column: DataColumn) -> bool:
    """Whether texts have several words on average, judged by some of them."""
    levels = column.levels[:MAX_ROWS]
    n_words = np.mean([len(str(level).split()) for level in levels])
    return bool(n_words >= _MIN_WORDS_OF_SENTENCE)


def spellings(values: Iterable[object]) -> list[list[str]]:
    """Texts that differ only by blanks and upper case, by the value that they spell."""
    groups: dict[str, list[str]] = {}
    for value in values:
        if isinstance(value, str):
            groups.setdefault(" ".join(value.split()).casefold(), []).append(value)
    return [sorted(group) for _, group in sorted(groups.items()) if len(group) > 1]


def best_word(words: list[set[str]], target: CheckedTarget) -> tuple[str, float]:
    """Find the word whose presence predicts the target best, and its skill."""
    rows_of_word: dict[str, list[int]] = {}
    for row, row_words in enumerate(words):
        for word in row_words:
            rows_of_word.setdefault(word, []).append(row)
    frequent = [word for word, rows in rows_of_word.items() if len(rows) >= _MIN_ROWS_OF_WORD]
    # Among equally frequent words, the order of the alphabet decides.
    frequent.sort(key=lambda word: (-len(rows_of_word[word]), word))
    best = ("", -np.inf)
    for word in frequent[:_MAX_WORDS]:
        bins = np.zeros(len(words), dtype=np.int64)
        bins[rows_of_word[word]] = 1
        word_skill = target.skill(bins, 2)
        if word_skill > best[1]:
            best = (word, word_skill)
    return best


def share_with_own_label(words: list[set[str]], labels: np.ndarray) -> float:
    """Share of the rows whose text has their label as a word, less the share by chance.

    Chance is measured with the labels in another order.
    """
    label_words = [_label_words(label) for label in labels.tolist()]
    order = np.random.default_rng(0).permutation(len(labels))
    own = np.mean([label <= row for label, row in zip(label_words, words, strict=True)])
    other = np.mean([label_words[i] <= row for i, row in zip(order, words, strict=True)])
    return float(own - other)


def _label_words(label: object) -> set[str]:
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    # A label without words is in no text.
    return words_of(str(label).lstrip("-")) or {"\0"}
