"""Every backend of this project runs the contract kit, and none can be left out."""

from momentlp.testing import BackendContract, backends_without_contract


class TestHighs(BackendContract):
    backend = "highs"


class TestGlpk(BackendContract):
    backend = "glpk"


class TestScipy(BackendContract):
    backend = "scipy"


class TestPyomo(BackendContract):
    backend = "pyomo"


def test_no_backend_escapes_the_contract() -> None:
    assert backends_without_contract() == set()
