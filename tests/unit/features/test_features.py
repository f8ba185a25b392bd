"""Feature maps: their features, the same features for new points, and saving."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import momentlp as mlp
from momentlp.datasets.synthetic import make_gaussian, make_ring, make_separable
from momentlp.runtime.peak_memory import peak_memory

X = np.random.default_rng(0).normal(size=(120, 3)) * [1.0, 5.0, 0.1]
MAPS = {
    "linear": mlp.Linear(),
    "linear standardised": mlp.Linear(standardise=True),
    "quadratic": mlp.Quadratic(),
    "quadratic standardised": mlp.Quadratic(standardise=True),
    "kernel": mlp.Kernel(gamma=0.1),
    "kernel by the median": mlp.Kernel(),
    "laplacian": mlp.Kernel("laplacian"),
    "polynomial": mlp.Kernel("poly", degree=2),
    "sigmoid": mlp.Kernel("sigmoid", gamma=0.01),
    "cosine": mlp.Kernel("cosine"),
    "landmarks": mlp.Kernel(landmarks=10),
    "spectral": mlp.Spectral(4, 8),
    "concat": mlp.Concat([mlp.Linear(), mlp.Kernel(landmarks=5)]),
    "pca": mlp.Transformer(PCA(n_components=2)),
    "pipeline": mlp.Transformer(make_pipeline(StandardScaler(), PCA(n_components=2))),
}
SAVED = {name: features for name, features in MAPS.items() if name not in ("pca", "pipeline")}


@pytest.fixture(params=MAPS)
def features(request: pytest.FixtureRequest) -> mlp.FeatureMap:
    return MAPS[request.param]


def test_points_of_the_fit_are_mapped_like_new_points(features: mlp.FeatureMap) -> None:
    fitted = features.fit(X)
    assert np.allclose(fitted(X), features.training(X, fitted), atol=1e-9)
    assert fitted(X[:5]).shape == (5, len(fitted.names))
    assert len(set(fitted.names)) == len(fitted.names)


def test_every_map_solves_on_every_backend(features: mlp.FeatureMap, backend: str) -> None:
    tolerance = mlp.Relative(0.3, standardised=True)
    solution = mlp.solve(mlp.Spec(features=features, tolerance=tolerance).compile(X, labelled=range(20)), backend)
    assert solution.status is mlp.Status.OPTIMAL, solution.message
    assert solution.objective > 20 - 1e-6
    clear = np.abs(solution.scores) > 1e-6
    assert np.array_equal(solution.separator.predict(X)[clear], solution.membership[clear] > 0.5)


def test_feature_maps_survive_json_and_yaml(features: mlp.FeatureMap) -> None:
    spec = mlp.Spec(features=features)
    assert mlp.Spec.from_json(spec.to_json()) == spec
    assert mlp.Spec.from_yaml(spec.to_yaml()) == spec


@pytest.mark.parametrize("name", SAVED)
@pytest.mark.parametrize("sparse", [False, True])
def test_a_saved_problem_still_maps_new_points(name: str, sparse: bool, tmp_path: Path) -> None:
    points = sp.csr_array(np.abs(X)) if sparse else X
    spec = mlp.Spec(features=SAVED[name], tolerance=mlp.Relative(0.3, standardised=True))
    problem = spec.compile(points, labelled=range(20))
    problem.save(tmp_path / "problem.npz")
    loaded = mlp.Problem.load(tmp_path / "problem.npz")
    assert np.array_equal(loaded.labelled, problem.labelled)
    scores = [mlp.solve(p).separator.decision_function(points[:7]) for p in (problem, loaded)]
    assert np.allclose(*scores)


def test_a_fitted_transformer_cannot_be_saved_without_a_pickle(tmp_path: Path) -> None:
    problem = mlp.Spec(features=MAPS["pca"]).compile(X, labelled=range(20))
    with pytest.raises(mlp.FileFormatError, match="fitted PCA of this problem cannot be saved"):
        problem.save(tmp_path / "problem.npz")
    assert not list(tmp_path.iterdir())


def test_quadratic_has_every_product_once() -> None:
    fitted = mlp.Quadratic().fit(X, ("a", "b", "c"))
    assert fitted.names == ("a", "b", "c", "a^2", "a b", "a c", "b^2", "b c", "c^2")
    assert np.allclose(fitted(X)[:, 4], X[:, 0] * X[:, 1])
    products = mlp.Quadratic().fit(sp.csr_array(X)).declared
    assert sp.issparse(products.transform(sp.csr_array(X), mlp.Quadratic().fit(sp.csr_array(X))))


def test_a_gaussian_class_keeps_its_covariance() -> None:
    case = make_gaussian(0)
    problem = mlp.Spec(features=mlp.Quadratic(), tolerance=mlp.Absolute(0.0)).compile(case.X, labelled=case.labelled)
    h = mlp.solve(problem).membership
    known = case.X[case.labelled]
    mean = h @ case.X / h.sum()
    covariance = (case.X - mean).T @ ((case.X - mean) * h[:, None]) / h.sum()
    assert np.allclose(mean, known.mean(axis=0))
    assert np.allclose(covariance, np.cov(known.T, bias=True))


def test_kernel_columns_are_the_kernel() -> None:
    fitted = mlp.Kernel(gamma=0.1).fit(X)
    assert np.allclose(fitted(X[:4]), rbf_kernel(X[:4], X, gamma=0.1))
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)[np.triu_indices(120, 1)]
    assert float(mlp.Kernel().fit(X).state["gamma"]) == pytest.approx(1 / np.median(distances) ** 2)


def test_landmarks_approach_the_kernel() -> None:
    fitted = mlp.Kernel(gamma=0.1, landmarks=120).fit(X)
    assert np.allclose(fitted(X) @ fitted(X).T, rbf_kernel(X, gamma=0.1), atol=1e-6)


def test_spectral_features_are_smooth_on_the_graph() -> None:
    """An eigenvector separates two distant clusters."""
    clusters = np.vstack([X[:60], X[:60] + np.array([30.0, 0.0, 0.0])])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        embedding = mlp.Spectral(2, 5).fit(clusters).state["embedding"]
    separated = [abs(embedding[:60, c].mean() - embedding[60:, c].mean()) for c in range(2)]
    assert max(separated) > 1.9  # constant on each cluster, one standard deviation either side of zero


@pytest.mark.parametrize("sparse", [False, True])
def test_points_of_the_graph_get_their_own_embedding_in_many_dimensions(sparse: bool) -> None:
    many = np.random.default_rng(0).normal(size=(200, 40)) + 5
    points = sp.csr_array(many) if sparse else many
    fitted = mlp.Spectral(4, 8).fit(points)
    assert np.array_equal(fitted(points), fitted.state["embedding"])


def test_a_sample_joins_the_graph_of_the_points() -> None:
    case = make_ring(0)
    rest = np.setdiff1d(np.arange(len(case.X)), case.labelled)
    spec = mlp.Spec(features=mlp.Spectral(6), tolerance=mlp.StandardError(0.5))
    problem = spec.compile(case.X[rest], sample=case.X[case.labelled])
    assert problem.n_points == len(rest)
    found = mlp.solve(problem).membership > 0.5
    truth = case.truth[rest]
    assert truth[found].mean() > 0.95
    assert found[truth].mean() > 0.95


@pytest.mark.parametrize(
    ("features", "tolerance", "make"),
    [
        (mlp.Linear(), mlp.Absolute(1.0), make_separable),
        (mlp.Quadratic(), mlp.Absolute(5.0), make_gaussian),
        (mlp.Kernel(gamma=0.5), mlp.StandardError(1.0), make_ring),
        (mlp.Kernel(gamma=0.5, landmarks=60), mlp.StandardError(1.0), make_ring),
        (mlp.Spectral(6), mlp.StandardError(0.5), make_ring),
        (mlp.Transformer(PCA(n_components=2)), mlp.Absolute(1.0), make_separable),
        (mlp.Concat([mlp.Linear(), mlp.Kernel(gamma=0.5, landmarks=40)]), mlp.StandardError(1.0), make_ring),
    ],
    ids=lambda part: getattr(part, "kind", getattr(part, "__name__", "")),
)
def test_held_out_points_are_classified_as_if_they_were_in_the_problem(
    features: mlp.FeatureMap, tolerance: mlp.Tolerance, make: object
) -> None:
    case = make(1)  # type: ignore[operator]
    random = np.random.default_rng(0)
    out = random.choice(np.setdiff1d(np.arange(len(case.X)), case.labelled), 100, replace=False)
    kept = np.setdiff1d(np.arange(len(case.X)), out)
    spec = mlp.Spec(features=features, tolerance=tolerance)
    with_all = mlp.solve(spec.compile(case.X, labelled=case.labelled))
    part = mlp.solve(spec.compile(case.X[kept], labelled=np.flatnonzero(np.isin(kept, case.labelled))))
    scores = part.separator.decision_function(case.X[out])
    clear = np.abs(scores) >= np.median(
        np.abs(scores)
    )  # the map is fitted to other points, so the hyperplane moves a little
    agree = (scores[clear] > 0) == (with_all.membership[out][clear] > 0.5)
    assert agree.mean() >= 0.9


def test_concat_has_one_block_and_one_tolerance_per_map() -> None:
    features = mlp.Concat([mlp.Linear(), mlp.Concat([mlp.Quadratic(), mlp.Kernel(landmarks=4)])])
    problem = mlp.Spec(features=features, tolerance=mlp.Absolute([1.0, 2.0, 3.0])).compile(X, labelled=range(20))
    assert [block.n_moments for block in problem.blocks] == [3, 9, 4]
    assert [block.upper[0] for block in problem.blocks] == [1.0, 2.0, 3.0]
    assert problem.names[0] == "1.x0"
    assert problem.names[3] == "2.x0"
    every = mlp.Spec(features=features, tolerance=mlp.Absolute(np.arange(16.0))).compile(X, labelled=range(20))
    assert np.array_equal(every.upper, np.arange(16.0))
    means = mlp.Spec(features=features).compile(X, mean=np.zeros(16))
    assert np.array_equal(np.concatenate([block.origin for block in means.blocks]), np.zeros(16))
    with pytest.raises(mlp.CompileError, match="give one number, or 16, one per moment, or 3, one per part"):
        mlp.Spec(features=features, tolerance=mlp.Absolute([1.0, 2.0])).compile(X, labelled=range(20))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: mlp.Kernel("gauss"), "Kernel.kernel: Input should be 'rbf'"),
        (lambda: mlp.Kernel(gamma=-1.0), "Kernel.gamma: Input should be greater than 0"),
        (lambda: mlp.Kernel(landmarks=0), "Kernel.landmarks: Input should be greater"),
        (lambda: mlp.Spectral(0), "Spectral.n_components"),
        (lambda: mlp.Concat([]), "Concat.maps"),
        (lambda: mlp.Concat([mlp.Absolute(1.0)]), "expected one of the features"),
        (lambda: mlp.Transformer(PCA), "an object with fit and transform"),
        (lambda: mlp.Transformer("PCA"), "an object with fit and transform"),
    ],
)
def test_unusable_parameters_of_maps_are_refused(build: object, message: str) -> None:
    with pytest.raises(mlp.SpecError, match=message):
        build()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (mlp.Kernel(landmarks=1000), "Kernel.landmarks is 1000, but there are only 120 points"),
        (mlp.Spectral(200), "needs more than 201 different points"),
        (mlp.Kernel("poly", degree=3000, landmarks=4), "is not finite on these points"),
        (mlp.Transformer(FunctionTransformer(lambda points: points[:, 5])), "cannot map these points"),
        (mlp.Transformer(PCA(n_components=50)), "PCA cannot be fitted to these points"),
        (mlp.Transformer(FunctionTransformer(np.log)), "what Transformer.transform returned must be finite"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value", "ignore:overflow")
def test_maps_that_do_not_fit_the_data_are_refused(features: mlp.FeatureMap, message: str) -> None:
    with pytest.raises(mlp.CompileError, match=message):
        mlp.Spec(features=features).compile(X, labelled=range(20))


@pytest.mark.parametrize(
    "table",
    [
        {"name": "os.system", "parameters": {}},
        {"name": "PCA", "parameters": {"n_componentz": 2}},
        {"name": "PCA", "parameters": [2]},
        {"name": ["PCA"]},
        {"steps": [{"name": "subprocess.Popen"}]},
    ],
)
def test_a_spec_file_names_only_transformers_of_scikit_learn(table: dict[str, object]) -> None:
    with pytest.raises(mlp.SpecError, match=r"Transformer\.transformer"):
        mlp.Spec.from_fields({"features": {"kind": "transformer", "transformer": table}})


def test_a_transformer_with_a_function_cannot_be_written_to_json() -> None:
    with pytest.raises(mlp.SpecError, match="func of FunctionTransformer is not a plain value"):
        mlp.Spec(features=mlp.Transformer(FunctionTransformer(np.log1p))).to_json()


def test_it_warns_if_only_the_labelled_set_is_feasible() -> None:
    case = make_ring(0)
    few = np.concatenate([case.labelled[:30], np.flatnonzero(~case.truth)[:100]])
    problem = mlp.Spec(features=mlp.Kernel(gamma=20.0), tolerance=mlp.Absolute(1e-6)).compile(
        case.X[few], labelled=range(30)
    )
    with pytest.warns(mlp.OnlyLabelledWarning, match=r"130 moments and 130 points.*landmarks"):
        solution = mlp.solve(problem)
    assert solution.objective == pytest.approx(30, rel=1e-3)


def test_sparse_points_stay_sparse() -> None:
    random = np.random.default_rng(0)
    documents = sp.random_array((3000, 1500), density=0.005, rng=random, format="csr")
    for features in (mlp.Linear(), mlp.Linear(standardise=True)):
        problem = mlp.Spec(features=features, tolerance=mlp.StandardError(1.0)).compile(documents, labelled=range(200))
        assert sp.issparse(problem.blocks[0].features)
        assert problem.linear_program().matrix.nnz < 2 * documents.nnz + 3000 + 2 * 1500 + 2


class OneColumn(mlp.FeatureMap):
    kind: str = "test-one-column"

    def learn(self, X: object, inputs: tuple[str, ...]) -> object:
        return ("only",), {}

    def transform(self, X: np.ndarray, fitted: mlp.FittedMap) -> np.ndarray:
        return X


class NoTuple(OneColumn):
    kind: str = "test-no-tuple"

    def learn(self, X: object, inputs: tuple[str, ...]) -> object:
        return inputs


class Flat(OneColumn):
    kind: str = "test-flat"

    def transform(self, X: np.ndarray, fitted: mlp.FittedMap) -> np.ndarray:
        return (X**2).sum(axis=1)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (OneColumn(), r"OneColumn.transform returned 3 feature\(s\), but it named 1"),
        (NoTuple(), "NoTuple.learn must return the names"),
        (Flat(), "what Flat.transform returned must be a table"),
    ],
)
def test_mistakes_in_a_user_defined_map_are_named(features: mlp.FeatureMap, message: str) -> None:
    with pytest.raises(mlp.CompileError, match=message):
        mlp.Spec(features=features).compile(X, labelled=[0])


def test_a_map_without_transform_cannot_be_instantiated() -> None:
    class Half(mlp.FeatureMap):
        kind: str = "test-half-map"

        def learn(self, X: object, inputs: tuple[str, ...]) -> object:
            return inputs, {}

    with pytest.raises(TypeError, match="transform"):
        Half()  # type: ignore[abstract]


def test_two_classes_of_one_kind_are_refused() -> None:
    with pytest.raises(mlp.SpecError, match="Mine has kind 'linear', which Linear has already"):

        class Mine(OneColumn):
            kind: str = "linear"


@pytest.mark.slow
def test_a_corpus_is_solved_without_becoming_dense() -> None:
    random = np.random.default_rng(0)
    documents = sp.random_array((20_000, 5_000), density=0.005, rng=random, format="csr")
    problem = mlp.Spec(tolerance=mlp.StandardError(3.0)).compile(documents, labelled=range(300))
    with peak_memory() as peak:
        solution = mlp.solve(problem)
    assert solution.status is mlp.Status.OPTIMAL
    assert solution.certificate.holds()
    assert peak.bytes is None or peak.bytes < 600e6  # two matrices of the words; the documents as an array take 800 MB


def test_a_corpus_compiles_without_becoming_dense() -> None:
    """20,000 documents of 5,000 words at half a per cent: dense it would be 800 MB."""
    random = np.random.default_rng(0)
    documents = sp.random_array((20_000, 5_000), density=0.005, rng=random, format="csr")
    with peak_memory() as peak:
        problem = mlp.Spec(tolerance=mlp.StandardError(3.0)).compile(documents, labelled=range(300))
        problem.linear_program()
    assert peak.bytes is None or peak.bytes < 150e6


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_products_of_too_many_columns_are_refused_before_they_are_computed(form: Any) -> None:
    X = form(np.ones((4, 3000)))
    message = r"4,504,500 moments of 3,000 columns, .* fewer columns, .* mlp.Transformer\(PCA"
    with pytest.raises(mlp.CompileError, match=message):
        mlp.Spec(features=mlp.Quadratic()).compile(X, labelled=[0, 1])
    with pytest.raises(mlp.CompileError, match=message):
        mlp.MomentClassifier("quadratic").fit(X, [1, 1, 0, 0])
    assert len(mlp.Quadratic().fit(np.ones((1, 256))).names) == 33152  # as many as images of 16 by 16 have


@pytest.mark.parametrize("backend", [info.name for info in mlp.backends() if info.available])
def test_a_landmark_far_from_all_other_points_is_left_out(backend: str) -> None:
    """Its kernel is 1e-300 or less elsewhere, with few digits: no solver can use that."""
    X = np.append(np.random.default_rng(0).normal(size=19), -40.0)[:, None]
    far = mlp.Kernel(landmarks=1, random_state=next(seed for seed in range(100) if _landmark(X, seed) == -40.0))
    solution = mlp.solve(mlp.Spec(far, mlp.Absolute(0.0)).compile(X, labelled=[0, 1]), backend)
    assert solution.status is mlp.Status.OPTIMAL
    assert solution.objective == pytest.approx(19.0)


def _landmark(X: np.ndarray, seed: int) -> float:
    return float(mlp.Kernel(landmarks=1, random_state=seed).fit(X).state["centres"][0, 0])
