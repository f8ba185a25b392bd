"""Match the controls of a survey to the treated of the NSW experiment, and compare the estimates with the experiment's.

Run ``python -m benchmarks.matching.nsw``. It needs the package causaldata: ``pip install --group matching``.
"""

from __future__ import annotations

import argparse
import importlib.util
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import momentlp as mlp
from benchmarks.common.folders import ROOT
from benchmarks.common.report import Row, format_markdown, package_version, print_table, write_page

__all__ = ["Comparison", "Study", "compare_groups", "find_data", "load_study", "main", "match_survey"]

RESULTS = ROOT / "docs" / "results" / "matching"
COVARIATES = ("age", "educ", "black", "hisp", "marr", "nodegree", "re74", "re75")
SECONDS = 5.0  # for each match
NO_EARNINGS = ("none74", "none75")  # indicators of no earnings, made here
OUTCOME = "re78"

TITLE = "Matching the NSW study"
INTRODUCTION = """\
The National Supported Work Demonstration (NSW) gave jobs to people who had found none for long. A lottery decided who
got one, so the difference between the later earnings of the two groups (`re78`, dollars in 1978) estimates the
effect. LaLonde (1986) replaced the controls of the experiment by people of a survey, the Current Population Survey
(CPS), and asked whether methods for observational studies find the same effect. The data are those of Dehejia and
Wahba (1999): {treated} treated, {controls} controls of the experiment, {survey} people of the survey.

Here `mlp.matching.profile_match` chooses the largest part of the survey whose covariate means are those of the
treated: age, years of education, black, Hispanic, married, no degree, and earnings in 1974 and 1975. Each match had
{seconds} seconds."""
AFTER_ESTIMATES = """\
Estimates are differences of mean earnings in dollars, treated minus the others. The standard error is sqrt(s1^2 / n1
+ s0^2 / n0). No match can have more rows than *bound*: this follows from the multipliers, which anyone can check.
*Largest SMD* is the largest standardised difference of the eight covariates, in standard deviations of the treated.
In the last two rows, the shares of those who earned nothing in 1974 and in 1975 are balanced too, and then also the
squares of all covariates."""
CHECK = """\
Nobody in the control group of the experiment was treated. If the survey is matched to this group, the true effect is
zero. Whatever is left is error: chance, or differences in what was not measured or not balanced."""
LIMITS = """\
- **Balanced means are not enough.** Unmatched, the survey shows a large loss. Matched, it shows a gain, but means of
  earnings within 0.1 standard deviations leave an error where the truth is zero that is nearly twice its standard
  error. Stricter tolerances reduce it. What reduces it most is to balance the shares of those who earned nothing:
  most of the treated earned nothing in 1974, and a mean
  does not say so. `VR` and `KS` in the balance table
  give the warning. Somebody without an experiment has nothing but such warnings.
- **What is not measured stays unbalanced.** The people of the survey may live in other places, and have other reasons
  not to work. No balance table shows this, and no match removes it.
- **The estimand** is the effect on the treated of this sample, not that on the people of the survey.
- **Uncertainty.** The standard error treats the match as fixed. It leaves out that there are other matches of the
  same size, and that somebody chose covariates, tolerance and unit. Choose these before you see the outcomes; this
  page shows several to show that they matter. All standard errors here are large, so that an estimate near that of
  the experiment is weak evidence for the method that gave it.
- **A proof of size is no proof of cause.** The bound says that no larger set has these means. It says nothing about
  the effect."""


@dataclass(frozen=True)
class Study:
    """The groups: treated and controls of the experiment, and people of the survey."""

    treated: pd.DataFrame
    controls: pd.DataFrame
    survey: pd.DataFrame


@dataclass(frozen=True)
class Comparison:
    """One estimate: the difference of mean outcomes of two groups."""

    name: str
    rows: int
    bound: float
    status: str
    largest_difference: float
    estimate: float
    standard_error: float

    def cells(self) -> Row:
        """Return the comparison as texts, for a table."""
        return {
            "compared with": self.name,
            "rows": f"{self.rows:,}",
            "bound": "-" if np.isnan(self.bound) else f"{self.bound:,.0f}",
            "status": self.status,
            "largest SMD": f"{self.largest_difference:.3f}",
            "estimate": f"{self.estimate:,.0f}",
            "standard error": f"{self.standard_error:,.0f}",
        }


def main(arguments: Sequence[str] | None = None) -> None:
    """Match, print, draw, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the page, the table and the picture")
    options = parser.parse_args(arguments)
    study = load_study()
    match = match_survey(study.survey, study.treated)
    comparisons = list(_compare_with_experiment(study, match))
    placebos = list(_compare_without_effect(study))
    for table in (comparisons, placebos):
        print_table([comparison.cells() for comparison in table])
        print()
    print(match.balance(), match.describe(), sep="\n\n")
    options.out.mkdir(parents=True, exist_ok=True)
    draw(match, options.out / "nsw.png")
    _write(options.out, study, match, comparisons, placebos)


def find_data() -> Path | None:
    """Return the folder of the package causaldata; None if it is not installed. The package itself is not imported."""
    found = importlib.util.find_spec("causaldata")
    return None if found is None or found.origin is None else Path(found.origin).parent


def load_study() -> Study:
    """Read the three groups."""
    folder = find_data()
    if folder is None:
        raise SystemExit("This needs the package causaldata: run pip install --group matching.")
    experiment, survey = (
        pd.read_stata(folder / name / f"{name}.dta").astype(dict.fromkeys([*COVARIATES, OUTCOME], float))
        for name in ("nsw_mixtape", "cps_mixtape")
    )
    for frame in (experiment, survey):
        for year in ("74", "75"):
            frame[f"none{year}"] = (frame[f"re{year}"] == 0).astype(float)
    is_treated = experiment["treat"] == 1
    return Study(experiment[is_treated], experiment[~is_treated], survey)


def match_survey(survey: pd.DataFrame, target: pd.DataFrame, **options: Any) -> mlp.matching.Match:
    """Choose the largest part of the survey with the means of a target, within 0.1 standard deviations by default."""
    return mlp.matching.profile_match(
        survey, target, **{"columns": COVARIATES, "tolerance": 0.1, "time_limit": SECONDS, **options}
    )


def compare_groups(
    name: str, target: pd.DataFrame, group: pd.DataFrame, match: mlp.matching.Match | None = None
) -> Comparison:
    """Estimate the difference of mean outcomes, target minus group, with its standard error."""
    variances = [frame[OUTCOME].var() / max(1, len(frame)) for frame in (target, group)]
    spread = target[list(COVARIATES)].std(ddof=0)
    differences = (group[list(COVARIATES)].mean() - target[list(COVARIATES)].mean()) / spread
    return Comparison(
        name,
        len(group),
        float("nan") if match is None else match.bound,
        "-" if match is None else match.status.name,
        float(differences.abs().max()),
        float(target[OUTCOME].mean() - group[OUTCOME].mean()),
        float(np.sqrt(sum(variances))),
    )


def draw(match: mlp.matching.Match, path: Path) -> None:
    """Draw the balance before and after."""
    axes = mlp.plots.new_axes(size=(7.2, 3.4), use_pyplot=False)
    mlp.plots.love_plot(match, axes, absolute=True)
    axes.figure.savefig(path, dpi=130, bbox_inches="tight")
    print(f"written: {path}")


def _compare_with_experiment(study: Study, match: mlp.matching.Match) -> Iterator[Comparison]:
    yield compare_groups("controls of the experiment", study.treated, study.controls)
    yield compare_groups("the whole survey", study.treated, study.survey)
    yield from _compare_matches(study.survey, study.treated, match)


def _compare_without_effect(study: Study) -> Iterator[Comparison]:
    yield compare_groups("the whole survey", study.controls, study.survey)
    yield from _compare_matches(study.survey, study.controls, match_survey(study.survey, study.controls))


def _compare_matches(survey: pd.DataFrame, target: pd.DataFrame, match: mlp.matching.Match) -> Iterator[Comparison]:
    """Compare the target with a match that is at hand, and with stricter ones."""
    matches = {
        "means within 0.1": match,
        "means within 0.05": match_survey(survey, target, tolerance=0.05),
        "means within 0.01": match_survey(survey, target, tolerance=0.01),
        "and shares without earnings, within 0.1": match_survey(survey, target, columns=[*COVARIATES, *NO_EARNINGS]),
        "and squares, within 0.1": match_survey(survey, target, columns=[*COVARIATES, *NO_EARNINGS], features="variances"),
    }
    for name, one in matches.items():
        yield compare_groups(name, target, survey.iloc[one.indices], one)


def _write(
    folder: Path, study: Study, match: mlp.matching.Match, comparisons: list[Comparison], placebos: list[Comparison]
) -> None:
    """Write ``nsw.md`` and ``nsw.csv``."""
    sizes = {name: f"{len(frame):,}" for name, frame in vars(study).items()}
    heading, *body = match.balance().table()
    balance = format_markdown([dict(zip(heading, cells, strict=True)) for cells in body])
    balance_text = f"{balance}\n\n{match.balance().summary()}.\n\n![Balance before and after matching](nsw.png)"
    sections = [
        ("", INTRODUCTION.format(**sizes, seconds=f"{SECONDS:g}")),
        ("Estimates", f"{format_markdown([one.cells() for one in comparisons])}\n\n{AFTER_ESTIMATES}"),
        ("Where the truth is zero", f"{CHECK}\n\n{format_markdown([one.cells() for one in placebos])}"),
        ("Balance of the match within 0.1", balance_text),
        ("The text for a methods section", "\n".join(textwrap.wrap(match.describe(), 125))),
        ("What this does not show", LIMITS),
        ("", f"The data are in the package causaldata {package_version('causaldata')}."),
    ]
    records = [
        {"target": target, **vars(one)}
        for target, table in (("treated", comparisons), ("controls", placebos))
        for one in table
    ]
    write_page(folder, "nsw", TITLE, sections, records)


if __name__ == "__main__":
    main()
