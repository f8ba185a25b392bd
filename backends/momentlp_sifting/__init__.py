"""The backend ``"sifting"``: exact optima of problems with many points and few moments, much faster than a general solver.

A sample of the points gives a first hyperplane (:mod:`.sifting`). Points far from it keep their side. Those near it make up
a restricted master problem (:mod:`.restricted_master`), which is solved exactly: an interior-point method finds the points
and moments that matter (:mod:`.interior_point`), and the simplex method of another backend solves for those. Pricing
(:mod:`.pricing`) finds, in one pass over all points, those that the new hyperplane puts on the other side. They are added,
and so on until there are none. Then the optimum of the restricted problem is the optimum of the whole: the scores of all
points agree with their memberships, and the certificate checks that.
"""

from momentlp_sifting.backend import Sifting

__all__ = ["Sifting"]
