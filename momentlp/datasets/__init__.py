"""Data for examples and experiments.

- :mod:`momentlp.datasets.synthetic` makes the three synthetic cases of the paper. ``momentlp.synthetic`` is the same module
  under its public name.
- :mod:`momentlp.datasets.usps` reads the USPS digits, which do not come with the package, and splits them as the paper does.

The package itself exports nothing: import from the modules.
"""
