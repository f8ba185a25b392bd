"""Every backend of this project runs the contract kit, and none can be left out."""

import momentlp as mlp
from momentlp.testing import BackendContract, FeatureMapContract, backends_without_contract, clouds


class TestHighs(BackendContract):
    backend = "highs"


class TestGlpk(BackendContract):
    backend = "glpk"


class TestScipy(BackendContract):
    backend = "scipy"


class TestPyomo(BackendContract):
    backend = "pyomo"


class TestSifting(BackendContract):
    backend = "sifting"


class TestLinear(FeatureMapContract):
    features = mlp.Linear()


class TestQuadratic(FeatureMapContract):
    features = mlp.Quadratic(standardise=True)


class TestKernel(FeatureMapContract):
    features = mlp.Kernel(landmarks=4)
    depends_on_order = True


class TestSpectral(FeatureMapContract):
    features = mlp.Spectral(n_components=2, n_neighbors=3)
    points = clouds(min_points=8, max_points=20, max_dims=3, decades=0, shapes=("general",))


def test_no_backend_escapes_the_contract() -> None:
    assert backends_without_contract() == set()
