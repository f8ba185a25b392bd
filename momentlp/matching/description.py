"""The paragraph of a match for the methods section of an article."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from momentlp._version import __version__
from momentlp.matching.programs import size_step
from momentlp.status import Status

if TYPE_CHECKING:
    from momentlp.matching.match import Match

__all__ = ["describe_match"]

MAX_LISTED = 12  # names in one list


def describe_match(match: Match) -> str:
    """Return the paragraph."""
    return " ".join(_sentences(match))


def _sentences(match: Match) -> Iterator[str]:
    yield _goal(match)
    yield _tolerance(match)
    yield from _exact(match)
    yield from _preparation(match)
    yield _result(match)
    yield from _strata(match)
    yield from _balance(match)


def _goal(match: Match) -> str:
    data, about = match.data, match.data.about
    rows = f"{data.n_rows:,} rows"
    within = f" within strata of {about['strata']}" if data.is_stratified else ""
    software = f"by linear programming with momentlp {__version__}"
    if data.target is not None:
        target = "means given" if data.target.values is None else f"means of a target of {len(data.target.values):,} rows"
        return (
            f"Profile matching (Cohn and Zubizarreta, 2022) sought the largest part of a pool of {rows} whose means agree "
            f"with the {target}{within}, {software}."
        )
    sizes = _join([f"{name} ({int((data.codes == code).sum()):,} rows)" for code, name in enumerate(data.groups)])
    ratio = ":".join(map(str, data.ratio))
    kept = "" if data.keep is None else f", with every row of {data.groups[data.keep]} kept"
    return (
        f"Cardinality matching (Zubizarreta, Paredes and Rosenbaum, 2014) sought the largest sample of the groups {sizes}, "
        f"in the ratio {ratio}{kept}, whose means agree{'' if len(data.groups) == 2 else ' pairwise'}{within}, {software}."
    )


def _tolerance(match: Match) -> str:
    data, about = match.data, match.data.about
    limits = np.unique(data.tolerance[np.isfinite(data.tolerance)])
    n_bound = int(np.isfinite(data.tolerance).sum())
    if not limits.size:
        return f"No mean had a tolerance; {len(data.names)} moments ({about['features']}) were compared."
    size = f"{limits[0]:g}" if limits.size == 1 else f"{limits[0]:g} to {limits[-1]:g}, depending on the moment,"
    fallback = _listed(about["fallback"])
    note = f" Moments that do not vary there ({fallback}) were measured in {about['fallback_unit']}." if fallback else ""
    return (
        f"Means of {n_bound} moments ({about['features']}) were allowed to differ by at most {size} {about['unit']}."
        f" The covariates were made of the columns {_listed(about['columns'])}.{note}"
    )


def _exact(match: Match) -> Iterator[str]:
    about = match.data.about
    same = "share of rows" if match.data.target is not None else "number of rows (in that ratio)"
    if about["exact"]:
        yield f"Every joint level of {_listed(about['exact'])} was required to have the same {same}."
    if about["fine"]:
        yield f"Every level of {_listed(about['fine'])}, each by itself, was required to have the same {same}."
    step = 1 if match.data.target is None or match.data.is_stratified else size_step(match.data)
    if step > 1 and match.data.whole:
        yield f"Only multiples of {step} rows can have these shares."
    if about["unmatched_levels"]:
        yield f"Rows of levels that cannot be balanced were not eligible: {_listed(about['unmatched_levels'])}."


def _preparation(match: Match) -> Iterator[str]:
    about = match.data.about
    if about["categorical"]:
        yield f"Each level of {_listed(about['categorical'])} was an indicator, missing values being a level."
    if about["filled"]:
        yield (
            f"Missing values of {_listed(about['filled'])} were replaced by the mean of the observed ones, and indicators "
            "of missingness were added to the covariates."
        )
    if about["constant"]:
        yield f"What does not vary was left out: {_listed(about['constant'])}."


def _result(match: Match) -> str:
    data = match.data
    rows = "rows" if data.whole else "rows by weight (memberships may be fractional)"
    if not match.size:
        return f"No match was found (status {match.status.name}; no match can have more than {match.bound:.6g} rows)."
    groups = _join([f"{size:.6g} of {name}" for name, size in match.groups.items()])
    chosen = f"{match.size:.6g} {rows} were chosen" + (f", {groups}" if len(data.groups) > 1 else "")
    if match.status is Status.OPTIMAL:
        return f"{chosen}; this is the largest number possible, proved by the multipliers of the linear program."
    return f"{chosen}; no match can have more than {match.bound:.6g}, as the multipliers of the linear program prove."


def _strata(match: Match) -> Iterator[str]:
    if match.skipped:
        reasons = "; ".join(f"{label} ({reason})" for label, reason in match.skipped.items())
        yield f"{len(match.skipped)} of {len(match.data.strata)} strata were skipped: {reasons}."


def _balance(match: Match) -> Iterator[str]:
    if not match.size:
        return
    balance = match.balance()
    before = max(abs(row.difference_before) for row in balance)
    after = f"{balance.largest_difference:.3f} after"
    if match.data.is_stratified:
        matched = [stratum.label for stratum in match.data.strata if match.weights[stratum.rows].any()]
        within = max(match.balance(label).largest_difference for label in matched)
        after = f"{within:.3f} after within any stratum ({balance.largest_difference:.3f} over all strata together)"
    yield f"The largest standardised difference was {before:.3f} before matching and {after}."
    if match.data.is_stratified and match.data.target is not None:
        yield (
            "Strata of the match need not have the sizes that they have in the target, so that estimates should be made "
            "within strata."
        )
    if (match.weights != 1)[match.indices].any():
        sizes = _join([f"{size:.1f} ({name})" for name, size in match.effective_sample_size.items()])
        yield f"The effective sample size (Kish) was {sizes}."


def _listed(names: Sequence[str]) -> str:
    shown = list(names)[:MAX_LISTED]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _join(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
