"""Every backend of this project passes its contract.

The classes of backends are made from the registry: ``TestHighs``, ``TestGlpk`` and so on, one for each backend that is
available here. A new backend is tested as soon as it is registered.
"""

from helpers.available_backends import BACKENDS

import momentlp as mlp
from momentlp.testing import BackendContract, backends_without_contract

for _name in BACKENDS:
    _class = f"Test{_name.title()}"
    globals()[_class] = type(_class, (BackendContract,), {"backend": _name, "__module__": __name__})


def test_no_available_backend_is_left_out() -> None:
    assert backends_without_contract() == {info.name for info in mlp.backends() if not info.available}
