"""Every backend and every kind of feature map of this project passes its contract.

The classes of backends are made from the registry: ``TestHighs``, ``TestGlpk`` and so on, one for each backend that is
available here. A new backend is tested as soon as it is registered.
"""

from helpers.available_backends import BACKENDS

import momentlp as mlp
from momentlp.testing import BackendContract, FeatureMapContract, backends_without_contract, clouds

for _name in BACKENDS:
    _class = f"Test{_name.title()}"
    globals()[_class] = type(_class, (BackendContract,), {"backend": _name, "__module__": __name__})


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


def test_no_available_backend_is_left_out() -> None:
    assert backends_without_contract() == {info.name for info in mlp.backends() if not info.available}
