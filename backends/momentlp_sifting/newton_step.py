"""One Newton step on the multipliers: from the hyperplane of a sample to that of all points.

The dual function ``f(y) = sum_i u_i max(0, w_i - a_i . y) + sum_j b_j y_j`` is piecewise linear, but with many points it is
nearly smooth. Here b_j is the bound that moment j has reached. The gradient is what the points on the positive side lack to
these bounds; it takes one pass over all points. The second derivative is the density of points at the hyperplane. The sample
knows it well enough, from its points in a band of half-width d::

    H = 1 / (2 d)  sum_{|s_i| <= d} u_i a_i a_i^T

The sample's hyperplane is off by the error of sampling. One step removes about nine tenths of that, so the band of points
that may change sides is much narrower afterwards.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from momentlp.points.arrays import FloatArray
from momentlp_sifting.program import Program

__all__ = ["newton_step"]

MIN_POINTS, MIN_POINTS_PER_MOMENT = 500, 16  # in the sample's band: with fewer, the density is not known well enough
MAX_BAND_SHARE = 0.4  # of the sample's points: a wider band says little about the density at the hyperplane
RIDGE = 1e-10  # relative to the diagonal


def newton_step(sample: Program, y: FloatArray, excess: FloatArray, band: float) -> tuple[FloatArray, float] | None:
    """Return better multipliers, and how far the score of a usual point near the hyperplane moves.

    Parameters
    ----------
    sample : Program
        The sample. Its bounds tell equations from inequalities.
    y : array, shape (m,)
        Its multipliers.
    excess : array, shape (m,)
        The moments of all points with a positive score, less the bounds that y belongs to, in units of the sample: times its
        share of all points.
    band : float
        The half-width d to use, if enough points lie within it.

    Returns
    -------
    (array of shape (m,), float), or None if the density is not known, or if the step leaves the band
    """
    active = np.flatnonzero((y != 0) | ~sample.is_inequality)
    scores = np.abs(sample.scores(y))
    wanted = MIN_POINTS + MIN_POINTS_PER_MOMENT * active.size
    if not active.size or wanted > MAX_BAND_SHARE * scores.size or not np.isfinite(excess).all():
        return None
    half_width = max(band, float(np.partition(scores, wanted)[wanted]))
    near = np.flatnonzero(scores <= half_width)
    A = sample.dense_rows(near, active)
    H = (A.T * (sample.caps[near] / (2 * half_width))) @ A
    H[np.diag_indices_from(H)] *= 1 + RIDGE
    try:
        step = cho_solve(cho_factor(H, lower=True, check_finite=False), excess[active], check_finite=False)
    except LinAlgError:
        return None
    better = y.copy()
    better[active] += step
    better[(better * y < 0) & sample.is_inequality] = 0.0  # a moment between its bounds
    move = float(np.median(np.abs(A @ (better - y)[active])))
    return (better, move) if 0 < move <= half_width else None
