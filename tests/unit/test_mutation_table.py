"""The table of mutants fits the code: ``make mutation`` can start."""

import mutation


def test_every_mutant_finds_its_code_exactly_once() -> None:
    assert mutation.find_outdated(mutation.ROOT) == []


def test_the_check_itself_is_not_run_on_mutants() -> None:
    """It would fail on every mutant, and so hide that no other test does."""
    assert (mutation.ROOT / mutation.CHECK_TEST).samefile(__file__)
