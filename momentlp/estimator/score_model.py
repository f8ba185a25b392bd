r"""The score model: how probable membership is at each score, how large the class is, and where to cut.

A score s ranks the points. The labelled points were scored without being used (out of bag, or held out), so their scores are
a random sample of the members' scores. With U the unlabelled points and sigma the logistic function, the model is::

    p(s)  =  pi ( (1 - f) sigma(b (s - c)) / E_U sigma  +  f ),          pi = E_U p = E_U sigma / (1 - f)

p(s) is the probability that an unlabelled point with score s is a member: it rises from 0 to 1 around c, with slope b. A
share f of the members may have any score, so that one labelled point with a low score does not decide. pi is the class
prior. By Bayes' rule the scores of members have the density p(s) / pi relative to those of U, so l labelled points with
scores s_i have the likelihood::

    prod_i  p(s_i) / pi

There is no score at which p would be known, so it is the *largest* class that fits: sigma reaches 1. That is the assumption
which every estimate of a class prior needs, and the one of the linear program too: the largest set that looks like the
labelled points.

With few labelled points many (b, c, f) fit. So the model averages over a grid of them, weighted by likelihood times prior.
The prior of c is half uniform in scores and half uniform in the class prior, that of log b is normal, that of f uniform on
five values. A class is usually apart from the rest, so few points should be doubtful: the prior has the factor
``exp(-0.7 E_U[4 sigma (1 - sigma)] / min(E_U sigma, 1 - E_U sigma))``. Since the model is never quite right, the likelihood
counts as that of fewer points, l / (1 + l / 100); or l / (1 + l / 2) if the labelled points differ from what is found in
some column, so that they are no random sample of the members.

The cut is the score with the largest expected F1, ``2 E[ pi r / (pi + q) ]``, where q is the share of U above the cut and r
the recall. Averages over the grid also give the interval of the class prior, and precision and recall at any cut.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logsumexp

from momentlp.points.arrays import FloatArray

__all__ = ["CURVES", "PRIOR_LEVELS", "ScoreModel", "log_evidence"]

# Chosen by trial on data sets of several kinds; results depend little on any of them.
MAX_INFORMATION = 100.0  # labelled points that any number of them can count as
FREE_SHARES = (0.0, 0.02, 0.05, 0.1, 0.2)  # f
TYPICAL_SLOPE, SLOPE_SPREAD = 3.0, 0.8  # of log b, in units of 1 / standard deviation of the scores of U
SEPARATION = 0.7  # how much a gap between members and others is expected
MIN_SHARE = 1e-6  # of either of them
SLOPES = np.geomspace(0.7, 12.0, 15)
N_CENTRES = 80
NEGLIGIBLE = 1e-5  # of the largest weight: candidates below it are left out
PRIOR_LEVELS = np.linspace(0.005, 0.995, 199)  # of the distribution of the class prior that are kept
# Quantile levels of U at which the model is evaluated: narrow at the top, where small classes lie.
LEVELS = np.unique(np.concatenate([1 - np.geomspace(2e-4, 0.2, 160), np.linspace(0.002, 0.8, 200)]))
CURVES = ("scores", "probability", "share", "precision", "recall", "f1")


@dataclass(frozen=True, eq=False)
class ScoreModel:
    """Probabilities, class prior and cut for one score. Build one with :meth:`fit`.

    Attributes
    ----------
    scores : array, shape (q,)
        Scores, increasing, at which the following arrays are known.
    probability : array, shape (q,)
        Probability of membership at that score.
    share : array, shape (q,)
        Share of the unlabelled points at or above that score.
    precision, recall : array, shape (q,)
        Expected precision and recall on the unlabelled points, if all at or above that score are taken.
    f1 : array, shape (q,)
        Expected F1, likewise.
    prior : float
        Expected share of the class among the unlabelled points.
    prior_quantiles : array, shape (199,)
        Quantiles of the class prior, at levels 0.005 to 0.995.
    """

    scores: FloatArray
    probability: FloatArray
    share: FloatArray
    precision: FloatArray
    recall: FloatArray
    f1: FloatArray
    prior: float
    prior_quantiles: FloatArray

    @classmethod
    def fit(
        cls,
        members: FloatArray,
        unlabelled: FloatArray,
        weights: FloatArray,
        member_weights: FloatArray | None = None,
        max_information: float = MAX_INFORMATION,
    ) -> ScoreModel:
        """Fit the model.

        Parameters
        ----------
        members : array, shape (l,)
            Scores of the labelled points, none of which was used for its own score.
        unlabelled, weights : array, shape (u,)
            Scores of the unlabelled points, and how many points each stands for.
        member_weights : array, shape (l,), optional
            How many points each labelled point stands for.
        max_information : float
            How many points any number of labelled points can count as. With few, the gap between members and others
            decides more than the scores of the labelled points.

        Examples
        --------
        >>> random = np.random.default_rng(0)
        >>> unlabelled = np.concatenate([random.normal(3.0, 1.0, 300), random.normal(-1.0, 1.0, 700)])
        >>> model = ScoreModel.fit(random.normal(3.0, 1.0, 50), unlabelled, np.ones(1000))
        >>> abs(model.prior - 0.3) < 0.03, 0 < model.cut < 2
        (True, True)
        """
        nodes, node_weights = _nodes(unlabelled, weights)
        counts = np.ones(members.size) if member_weights is None else member_weights
        weight, p = _average_over(_Grid.of(nodes, node_weights, members, 1 / weights.sum()), counts, max_information)
        pi = p @ node_weights
        share = np.cumsum(node_weights[::-1])[::-1]
        found = np.cumsum((p * node_weights)[:, ::-1], axis=1)[:, ::-1]  # members at or above each node
        order = np.argsort(pi)
        return cls(
            scores=nodes,
            probability=weight @ p,
            share=share,
            precision=weight @ found / share,
            recall=weight @ (found / pi[:, None]),
            f1=weight @ (2 * found / (pi[:, None] + share)),
            prior=float(weight @ pi),
            prior_quantiles=np.interp(PRIOR_LEVELS, np.cumsum(weight[order]) - weight[order] / 2, pi[order]),
        )

    @property
    def cut(self) -> float:
        """The score with the largest expected F1: the middle between it and the next lower one, or less if there is none."""
        return self.cut_at(int(np.argmax(self.f1)))

    @property
    def cut_probability(self) -> float:
        """The probability that a point must exceed to be taken; 0 if all are taken."""
        node = int(np.argmax(self.f1))
        return 0.0 if node == 0 else float(self((self.scores[node] + self.scores[node - 1]) / 2))

    def arrays(self) -> dict[str, FloatArray]:
        """Return all that the model holds as plain arrays."""
        curves = {name: getattr(self, name) for name in CURVES}
        return curves | {"prior": np.array([self.prior]), "prior_quantiles": self.prior_quantiles}

    def interval(self, level: float) -> tuple[float, float]:
        """Return an interval that holds the class prior with probability ``level``."""
        low, high = np.interp([(1 - level) / 2, (1 + level) / 2], PRIOR_LEVELS, self.prior_quantiles)
        return float(low), float(high)

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Return the probability of membership at scores."""
        return np.asarray(np.interp(scores, self.scores, self.probability))

    def first_with(self, *, precision: float | None = None, recall: float | None = None) -> int | None:
        """Return the node of the largest set with a precision, or of the smallest with a recall; None if there is none."""
        if precision is not None:
            reached = np.flatnonzero(self.precision >= precision)
            return int(reached[0]) if reached.size else None
        reached = np.flatnonzero(self.recall >= (recall or 0.0))
        return int(reached[-1]) if reached.size else None

    def cut_at(self, node: int) -> float:
        """Return a score between a node and the one below it: points at or above the node lie above it."""
        if node == 0:
            return float(np.nextafter(self.scores[0], -np.inf) - 1.0)
        return float((self.scores[node] + self.scores[node - 1]) / 2)


def log_evidence(
    members: FloatArray, unlabelled: FloatArray, weights: FloatArray, member_weights: FloatArray | None = None
) -> float:
    """Return how well a score tells members from others: the logarithm of the likelihood, averaged over all candidates.

    Parameters
    ----------
    members, unlabelled, weights, member_weights
        As in :meth:`ScoreModel.fit`.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> unlabelled = np.concatenate([random.normal(3.0, 1.0, 300), random.normal(-1.0, 1.0, 700)])
    >>> good, bad = random.normal(3.0, 1.0, 50), random.normal(0.0, 2.0, 50)
    >>> log_evidence(good, unlabelled, np.ones(1000)) > log_evidence(bad, unlabelled, np.ones(1000))
    True
    """
    nodes, node_weights = _nodes(unlabelled, weights)
    counts = np.ones(members.size) if member_weights is None else member_weights
    return float(logsumexp(_log_weights(_Grid.of(nodes, node_weights, members, 1 / weights.sum()), counts)))


def _nodes(scores: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return different scores that stand for those of the unlabelled points, and the share of the points of each."""
    order = np.argsort(scores, kind="stable")
    up_to = np.cumsum(weights[order]) / weights.sum()
    quantiles = scores[order][np.minimum(np.searchsorted(up_to, LEVELS), scores.size - 1)]
    edges = np.concatenate([[0.0], (LEVELS[1:] + LEVELS[:-1]) / 2, [1.0]])
    nodes, place = np.unique(quantiles, return_inverse=True)
    return nodes, np.bincount(place, np.diff(edges)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class _Grid:
    """All candidates (b, c): sigma at the nodes and at the labelled points, and the logarithm of the prior.

    Attributes
    ----------
    sigma : array, shape (B, C, q)
    mean : array, shape (B, C)
        E_U sigma.
    log_density : array, shape (B, C, l)
        log of ``sigma / E_U sigma`` at the labelled points.
    log_prior : array, shape (B, C)
    """

    sigma: FloatArray
    mean: FloatArray
    log_density: FloatArray
    log_prior: FloatArray

    @classmethod
    def of(cls, nodes: FloatArray, node_weights: FloatArray, members: FloatArray, one_point: float) -> _Grid:
        """Build the grid. ``one_point`` is the share of one unlabelled point: no density is known more finely than that."""
        members = np.clip(members, nodes[0], nodes[-1])  # beyond all unlabelled points, scores say no more
        spread = float(np.sqrt(node_weights @ (nodes - node_weights @ nodes) ** 2)) or 1.0
        slopes = (SLOPES / spread)[:, None, None]
        low, high = nodes[0] - 0.2 * spread, nodes[-1] + 0.3 * spread
        centres = np.linspace(low, high, N_CENTRES)[:, None]
        sigma = expit(slopes * (nodes - centres))
        mean = np.maximum(sigma @ node_weights, min(one_point, 0.5))
        log_density = -np.logaddexp(0.0, -slopes * (members - centres)) - np.log(mean)[..., None]
        steps = np.abs(np.gradient(mean, axis=1))
        uniform = 0.5 * steps / np.maximum(steps.sum(axis=1, keepdims=True), 1e-12) + 0.5 / N_CENTRES
        log_slope = -0.5 * (np.log(SLOPES / TYPICAL_SLOPE) / SLOPE_SPREAD) ** 2
        doubtful = 4 * ((sigma * (1 - sigma)) @ node_weights) / np.maximum(np.minimum(mean, 1 - mean), MIN_SHARE)
        return cls(sigma, mean, log_density, np.log(uniform) + log_slope[:, None] - SEPARATION * doubtful)


def _log_weights(grid: _Grid, counts: FloatArray, max_information: float = MAX_INFORMATION) -> FloatArray:
    """Return the logarithm of likelihood times prior of each candidate, shape (F, B, C)."""
    temper = 1.0 / (1.0 + float(counts.sum()) / max_information)
    density = np.exp(np.minimum(grid.log_density, 50.0))
    fits = [np.log((1 - f) * density + f + 1e-300) @ counts for f in FREE_SHARES]
    return np.array([temper * fit + grid.log_prior for fit in fits])


def _average_over(grid: _Grid, counts: FloatArray, max_information: float) -> tuple[FloatArray, FloatArray]:
    """Return the weights of the candidates that count, shape (k,), and their p at the nodes, shape (k, q)."""
    log_weight = _log_weights(grid, counts, max_information)
    weight = np.exp(log_weight - log_weight.max())
    free, b, c = np.nonzero(weight > NEGLIGIBLE)
    f, mean = np.array(FREE_SHARES)[free][:, None], grid.mean[b, c][:, None]
    pi = np.minimum(mean / (1 - f), 1.0)
    p = np.minimum(pi * ((1 - f) * grid.sigma[b, c] / mean + f), 1.0)
    chosen = weight[free, b, c]
    return chosen / chosen.sum(), p
