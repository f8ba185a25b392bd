"""Data for examples and experiments.

- :mod:`momentlp.datasets.synthetic` makes the three synthetic cases of the paper. ``momentlp.synthetic`` is the same module
  under its public name.
- :mod:`momentlp.datasets.usps` reads the USPS digits, which do not come with the package, and splits them as the paper does.

The functions of the second are exported here too.
"""

from momentlp.datasets.usps import class_split, load_usps, usps_split

__all__ = ["class_split", "load_usps", "usps_split"]
