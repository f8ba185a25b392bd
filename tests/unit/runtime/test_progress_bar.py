"""Progress is a bar on a terminal, a line from time to time in a file, or a call of the caller's function."""

from __future__ import annotations

import sys

import pytest

from momentlp.runtime import progress_bar
from momentlp.runtime.progress_bar import show_progress


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress_bar, "time", clock)
    return clock


def test_a_function_is_called_with_the_number_done_and_the_total() -> None:
    calls: list[tuple[int, int | None]] = []
    with show_progress(lambda done, total: calls.append((done, total)), 3) as report_done:
        report_done(1)
        report_done(3)
    assert calls == [(1, 3), (3, 3)]


def test_false_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(False, 1) as report_done:
        report_done(1)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("has_rich", [True, False])
def test_progress_is_shown_on_a_terminal(
    has_rich: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if has_rich:
        pytest.importorskip("rich")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(progress_bar, "find_spec", lambda _: has_rich or None)
    with show_progress(True, 2) as report_done:
        report_done(1)
        report_done(2)
    shown = capsys.readouterr().err
    assert "2/2" in shown if has_rich else "2 of 2 solved, 0:00:00 left" in shown


def test_on_a_terminal_every_report_replaces_the_last(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(progress_bar, "find_spec", lambda _: None)
    with show_progress(True, 4) as report_done:
        report_done(1)  # too early
        clock.now += 10
        report_done(2)
        report_done(3)  # too early again
        report_done(4)  # the last one is always shown
    shown = capsys.readouterr().err
    assert [line.rstrip() for line in shown.split("\r")] == [
        "",
        "2 of 4 solved, 0:00:10 left",
        "4 of 4 solved, 0:00:00 left",
    ]
    assert shown.endswith("\n")


def test_in_a_file_a_line_is_written_from_time_to_time(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(True, 10) as report_done:
        for done in range(1, 5):
            clock.now += 20
            report_done(done)
    assert capsys.readouterr().err == "2 of 10 solved, 0:02:40 left\n4 of 10 solved, 0:02:00 left\n"


def test_without_a_total_only_the_number_done_is_shown(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(True, None) as report_done:
        clock.now += 60
        report_done(7)
    assert capsys.readouterr().err == "7 solved\n"
