"""Learned features: classifiers in bags, scored out of bag, as normal quantiles among the unlabelled points."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import norm, rankdata
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import momentlp as mlp
from momentlp.features.bagging.bags import Bags, draw_bags, out_of_bag_means
from momentlp.features.bagging.ensembles import ARRAY_ENSEMBLES
from momentlp.features.bagging.normal_scores import NormalScores
from momentlp.features.bagging.scaling import Scaling

NAMES = tuple(ARRAY_ENSEMBLES)
KNOWN = np.arange(25)


def two_clouds(n: int = 150, shift: float = 2.0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Points in four columns of different units; the first n are the class."""
    random = np.random.default_rng(seed)
    X = np.vstack([random.normal(size=(n, 4)), random.normal(size=(2 * n, 4)) + shift]) * [1.0, 100.0, 1e-3, 1.0]
    return X, np.arange(3 * n) < n


X, TRUTH = two_clouds()


def some_bags(n_bags: int = 12) -> Bags:
    return draw_bags(KNOWN, np.ones(25), np.arange(25, 450), np.ones(425), n_bags, np.random.default_rng(0))


def learned(features: mlp.Learned, points: Any = X, **arguments: Any) -> Any:
    """Return the features of a compiled problem."""
    return mlp.Spec(features=features).compile(points, labelled=KNOWN, **arguments).blocks[0].features


def as_sklearn(name: str, scaling: Scaling, seed: int) -> Any:
    if name == "trees":
        return DecisionTreeClassifier(max_features="sqrt", max_depth=30, min_samples_leaf=3, random_state=seed)
    return SVC(gamma=scaling.gamma) if name == "svm" else LogisticRegression(max_iter=1000)


def score_of(model: Any, points: Any) -> np.ndarray:
    return model.decision_function(points) if hasattr(model, "decision_function") else model.predict_proba(points)[:, 1]


@pytest.mark.parametrize("build", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("name", NAMES)
def test_scores_are_the_means_over_the_bags_that_did_not_train_on_a_point(name: str, build: Any) -> None:
    """Against scikit-learn's own models, one bag and one point at a time."""
    points, bags = build(X), some_bags()
    scaling = Scaling.of(points)
    seen = (lambda rows: rows) if name == "trees" else scaling
    models = []
    for bag in range(len(bags)):
        rows, target = bags.training(bag)
        models.append(as_sklearn(name, scaling, bags.seeds[bag]).fit(seen(points[rows]), target))
    scores = np.array([score_of(model, seen(points)) for model in models])
    out = np.array([~np.isin(np.arange(len(X)), bags.training(bag)[0]) for bag in range(len(bags))])
    expected = np.where(out.any(axis=0), (scores * out).sum(axis=0) / np.maximum(out.sum(axis=0), 1), scores.mean(axis=0))
    found = out_of_bag_means(ARRAY_ENSEMBLES[name].train(points, scaling, bags, None), points, bags)
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_labelled_points_score_like_members_that_are_not_labelled(name: str) -> None:
    features = learned(mlp.Learned([name], n_bags=100))[:, 0]
    members, error = features[25:150], features[25:150].std() / 5
    assert abs(features[:25].mean() - members.mean()) < 4 * error
    assert members.mean() > features[150:].mean() + 1


def test_scores_are_normal_quantiles_among_the_unlabelled_points() -> None:
    features = learned(mlp.Learned())
    assert features.shape == (450, 3)
    for column in features[25:].T:
        ranks = (rankdata(column) - 0.5) / column.size
        assert column == pytest.approx(norm.ppf(ranks), abs=1e-9)


def test_many_scores_are_thinned_out_and_interpolated() -> None:
    scores = np.random.default_rng(0).normal(size=30_000) * 7 + 3
    normal = NormalScores.of(scores, np.ones(30_000))
    assert normal.levels.size <= 2000
    assert normal(scores) == pytest.approx(norm.ppf((rankdata(scores) - 0.5) / 30_000), abs=0.02)
    assert normal(np.array([-1e9, 1e9])) == pytest.approx([normal.quantiles[0], normal.quantiles[-1]])


def test_a_weight_stands_for_repeated_scores() -> None:
    scores, times = np.array([3.0, 1.0, 2.0]), np.array([2, 1, 3])
    weighted, repeated = NormalScores.of(scores, times.astype(float)), NormalScores.of(np.repeat(scores, times), np.ones(6))
    assert weighted(scores) == pytest.approx(repeated(scores))


def test_the_same_seed_gives_the_same_features_on_any_number_of_threads() -> None:
    first = learned(mlp.Learned(n_bags=10))
    assert np.array_equal(first, learned(mlp.Learned(n_bags=10, n_jobs=2)))
    assert not np.array_equal(first, learned(mlp.Learned(n_bags=10, random_state=1)))


def test_bags_hold_as_many_unlabelled_as_labelled_points_and_follow_the_weights() -> None:
    random = np.random.default_rng(0)
    pool, weights = np.arange(10, 30), np.append(np.full(10, 9.0), np.ones(10))
    bags = draw_bags(np.arange(6), np.array([5.0, 1, 1, 1, 1, 1]), pool, weights, 400, random)
    assert all(others.size == 10 == np.unique(others).size for others in bags.others)
    assert all(members.size == 10 for members in bags.members)
    drawn = np.bincount(np.concatenate(bags.others), minlength=30)
    assert drawn[:10].sum() == 0
    assert drawn[10:20].sum() > 3 * drawn[20:].sum()
    assert np.mean(np.concatenate(bags.members) == 0) == pytest.approx(0.5, abs=0.05)
    few = draw_bags(np.arange(6), np.ones(6), np.arange(6, 9), np.ones(3), 5, random)
    assert all(others.size == 2 for others in few.others)  # no more than about half of what there is


def test_held_out_points_are_in_no_bag() -> None:
    """A labelled point that counts zero neither trains a classifier nor stands among the unlabelled points."""
    prepared = mlp.Spec(features=mlp.Learned(["logistic"], n_bags=20)).prepare(X)
    counts = np.append(np.zeros(5), np.ones(20))
    held_out = prepared.compile(labelled=KNOWN, counts=counts).blocks[0].features
    moved = X.copy()
    moved[:5] += 1e-9  # a change of these points alone must not change the scores of the others
    again = mlp.Spec(features=mlp.Learned(["logistic"], n_bags=20)).prepare(moved).compile(labelled=KNOWN, counts=counts)
    assert held_out[5:] == pytest.approx(again.blocks[0].features[5:], abs=1e-5)
    assert held_out[:5].mean() > 0


def test_points_of_weight_zero_do_not_count() -> None:
    weights = np.where(np.arange(450) % 3 == 2, 0.0, 1.0)
    kept = weights > 0
    features = mlp.Learned(["trees", "logistic"], n_bags=10)
    whole = mlp.Spec(features=features).compile(X, labelled=KNOWN[kept[:25]], sample_weight=weights).blocks[0].features
    labelled = np.flatnonzero(np.isin(np.flatnonzero(kept), KNOWN))
    part = mlp.Spec(features=features).compile(X[kept], labelled=labelled).blocks[0].features
    assert whole[kept] == pytest.approx(part)


def test_a_sample_that_is_not_among_the_points_is_learned_from() -> None:
    problem = mlp.Spec(features=mlp.Learned(n_bags=20), tolerance=mlp.StandardError(1.0)).compile(X[25:], sample=X[:25])
    found = mlp.solve(problem).membership > 0.5
    assert found[:125].mean() > 0.7
    assert found[125:].mean() < 0.15


@pytest.mark.parametrize("build", [np.asarray, sp.csr_array])
def test_a_saved_problem_scores_new_points_alike(build: Any, tmp_path: Path) -> None:
    problem = mlp.Spec(features=mlp.Learned(n_bags=8)).compile(build(X), labelled=KNOWN)
    problem.save(tmp_path / "problem.npz")
    loaded, new = mlp.Problem.load(tmp_path / "problem.npz"), build(two_clouds(seed=5)[0])
    assert np.array_equal(loaded.blocks[0].fitted(new), problem.blocks[0].fitted(new))
    assert problem.blocks[0].fitted(new)[:150].mean() > problem.blocks[0].fitted(new)[150:].mean() + 1


def test_a_file_with_a_node_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    problem = mlp.Spec(features=mlp.Learned(["trees"], n_bags=3)).compile(X, labelled=KNOWN)
    fitted = problem.blocks[0].fitted
    fitted.state["0.left"][0] = 10**6
    problem.save(tmp_path / "problem.npz")
    with pytest.raises(mlp.FileFormatError, match=r"0\.left"):
        mlp.Problem.load(tmp_path / "problem.npz")


@pytest.mark.parametrize(
    "classifier",
    [RandomForestClassifier(n_estimators=5), GaussianNB(), make_pipeline(StandardScaler(), SVC(C=2.0))],
    ids=["probabilities", "without seed", "pipeline"],
)
def test_any_classifier_of_scikit_learn_can_be_learned(classifier: Any, tmp_path: Path) -> None:
    problem = mlp.Spec(features=mlp.Learned([classifier, "logistic"], n_bags=6)).compile(X, labelled=KNOWN)
    features = problem.blocks[0].features
    assert features[25:150, 0].mean() > features[150:, 0].mean() + 0.5
    assert problem.blocks[0].fitted(X[:3]).shape == (3, 2)
    assert np.array_equal(features, learned(mlp.Learned([classifier, "logistic"], n_bags=6)))
    with pytest.raises(mlp.FileFormatError, match="pickle"):
        problem.save(tmp_path / "problem.npz")


def test_features_are_named_after_their_classifiers() -> None:
    assert mlp.Learned().fit(X).names == ("learned trees", "learned svm", "learned logistic")
    two = mlp.Learned([GaussianNB(), GaussianNB(var_smoothing=0.1), "svm"]).fit(X)
    assert two.names == ("learned GaussianNB 1", "learned GaussianNB 2", "learned svm")


@pytest.mark.parametrize(
    "features",
    [
        mlp.Learned(),
        mlp.Learned("svm", n_bags=7, random_state=3),
        mlp.Learned(["trees", GaussianNB(var_smoothing=0.5), make_pipeline(StandardScaler(), SVC(C=2.0))]),
    ],
    ids=["default", "one", "mixed"],
)
def test_it_comes_back_from_a_spec_file(features: mlp.Learned) -> None:
    spec = mlp.Spec(features=features)
    assert mlp.Spec.from_json(spec.to_json()) == spec
    assert mlp.Spec.from_yaml(spec.to_yaml()) == spec
    assert mlp.Spec(features=mlp.Learned(n_bags=5)) != spec


@pytest.mark.parametrize(
    ("estimators", "message"),
    [
        ("forest", "'forest' is none of 'trees', 'svm', 'logistic'"),
        (["trees", "nets"], "'nets' is none of"),
        ([], "expected 'auto' or a list"),
        (3, "expected 'auto' or a list"),
        ([StandardScaler()], "StandardScaler has neither decision_function nor predict_proba"),
        ([SVC], "expected a name or a classifier"),
        ([{"name": "Pickled"}], "'Pickled' is not the name of a classifier"),
        ([{"steps": ["x"]}], "every step of a pipeline must be a table"),
    ],
    ids=str,
)
def test_what_is_no_classifier_is_refused(estimators: Any, message: str) -> None:
    with pytest.raises(mlp.SpecError, match=message):
        mlp.Learned(estimators)


def test_a_classifier_that_fails_is_named() -> None:
    with pytest.raises(mlp.CompileError, match=r"SVC cannot be fitted to a bag.*C"):
        learned(mlp.Learned([SVC(C=-1.0)]))
    with pytest.raises(mlp.CompileError, match="needs labelled points"):
        mlp.Spec(features=mlp.Learned()).compile(X, mean=np.zeros(3))
    with pytest.raises(mlp.CompileError, match="before it knows the labelled points"):
        mlp.Learned().fit(X)(X)


def test_it_stands_beside_other_maps() -> None:
    features = mlp.Concat([mlp.Learned(n_bags=10), mlp.Spectral(4, 5), mlp.Linear(standardise=True)])
    solution = mlp.solve(mlp.Spec(features=features, tolerance=mlp.StandardError(2.0)).compile(X, labelled=KNOWN))
    assert solution.status is mlp.Status.OPTIMAL
    assert (solution.membership[:150] > 0.5).mean() > 0.7


def test_the_estimator_takes_it() -> None:
    y = np.isin(np.arange(450), KNOWN).astype(int)
    model = mlp.MomentClassifier(mlp.Learned(n_bags=20), tolerance=1.0).fit(X, y)
    new, truth = two_clouds(seed=9)
    assert model.solution_.certificate.holds()
    assert np.mean(model.predict(new) == truth) > 0.85


def test_a_perceptron_without_probabilities_scores_by_its_decision_function() -> None:
    assert learned(mlp.Learned([make_pipeline(StandardScaler(), Perceptron())], n_bags=6)).shape == (450, 1)


def test_everything_labelled_is_compared_with_itself() -> None:
    features = mlp.Spec(features=mlp.Learned(n_bags=5)).compile(X, labelled=range(450)).blocks[0].features
    assert np.isfinite(features).all()
