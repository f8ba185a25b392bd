"""Tables in plain text, Markdown and HTML."""

from __future__ import annotations

from fractions import Fraction
from html.parser import HTMLParser

import pytest

from momentlp.runtime.html_table import MAX_ROWS, html_table, shorten_rows
from momentlp.runtime.markdown_table import markdown_table
from momentlp.runtime.text_table import align_columns


class Cells(HTMLParser):
    """The texts of the cells of an HTML table, and the tags that are open at its end."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_columns_are_as_wide_as_their_longest_cell() -> None:
    assert align_columns([["name", "size", "x"], ["a", "10", ""], ["longer", "1", "y"]]) == (
        "name    size  x\na       10\nlonger  1     y"
    )


def test_rows_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        align_columns([["a", "b"], ["a", "b", "c"]])


def test_markdown_aligns_columns_of_numbers_to_the_right() -> None:
    rows = [
        {"case": "ring", "n": 10, "recall": 0.95, "mixed": 1},
        {"case": "cloud", "n": 1, "recall": 1234.56, "mixed": "-"},
    ]
    assert markdown_table(rows).splitlines() == [
        "| case | n | recall | mixed |",
        "|---|---:|---:|---|",
        "| ring | 10 | 0.950 | 1 |",
        "| cloud | 1 | 1234.6 | - |",
    ]


def test_the_caller_can_say_what_a_number_is() -> None:
    table = markdown_table([{"x": "7"}], is_number=str.isdigit)
    assert table.splitlines()[1] == "|---:|"
    assert markdown_table([{"x": Fraction(1, 3)}]).splitlines()[1:] == ["|---:|", "| 1/3 |"]


def test_html_is_well_formed_and_all_text_is_escaped() -> None:
    html = html_table("<title>", [("a&b", "<script>"), ("alone",)], ("<name>", "value"))
    cells = Cells(html)
    assert cells.texts == ["<title>", "<name>", "value", "a&b", "<script>", "alone"]
    assert cells.open == []


def test_a_row_of_one_cell_spans_all_columns() -> None:
    assert '<th colspan="3">alone</th>' in html_table("title", [(1, 2, 3), ("alone",)])


def test_a_table_without_heading_has_no_head() -> None:
    assert "<thead>" not in html_table("title", [])


@pytest.mark.parametrize("n_rows", [0, 1, MAX_ROWS, MAX_ROWS + 1])
def test_a_short_table_is_shown_completely(n_rows: int) -> None:
    """One row more is shown too: the row that replaces it would take as much space."""
    rows = [(k, k) for k in range(n_rows)]
    assert shorten_rows(rows) == rows


def test_a_long_table_says_how_many_rows_are_missing() -> None:
    rows = [(k, k) for k in range(50)]
    half = MAX_ROWS // 2
    assert shorten_rows(rows) == [*rows[:half], (f"... {50 - MAX_ROWS} more ...",), *rows[-half:]]
