"""Every feature map of this project passes its contract."""

from __future__ import annotations

import momentlp as mlp
from momentlp.testing import FeatureMapContract, clouds


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
