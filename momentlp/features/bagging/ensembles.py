"""Ensembles that are plain arrays: trees, kernel machines and linear models, one per bag.

scikit-learn trains them. What they learned is kept as arrays, so that a fitted map can be saved without a pickle, and so
that all bags score all points at once:

- the sum of linear models is one linear model;
- the sum of kernel machines is one expansion over the support vectors of all bags;
- trees are walked down together, all bags at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from momentlp.features.bagging.bags import Bags
from momentlp.features.bagging.parallel import run_parallel
from momentlp.features.bagging.scaling import Scaling
from momentlp.features.state import Shapes, StateArray, pack_matrix, unpack_matrix
from momentlp.points.arrays import FloatArray, IndexArray, Matrix, is_sparse

__all__ = ["ARRAY_ENSEMBLES", "ArrayEnsemble", "KernelMachines", "LinearModels", "Trees"]

MAX_DEPTH = 30  # of a tree
MAX_BLOCK_ENTRIES = 4_000_000  # of points times bags, vectors or columns that are processed together: 32 MiB
MAX_ITERATIONS = 1000  # of a logistic regression
MIN_LEAF = 3  # points in the leaf of a tree: leaves of one point say only 0 or 1
MAX_KERNEL_PRODUCTS = 5e11  # points times vectors times columns of all kernel machines: above, there are fewer bags
MIN_KERNEL_BAGS = 15


class Trees:
    """Decision trees on the columns as they are: a score is the share of labelled points in the leaf.

    Attributes
    ----------
    roots : array of int, shape (B,)
        The first node of each tree.
    left, right, feature : array of int, shape (M,)
        Children of each node, and the column that decides; a leaf is its own child.
    threshold, value : array, shape (M,)
        Points up to the threshold go left; the value of a leaf is its score.
    importance : array, shape (d,)
        How much each column reduced the impurity, summed over all trees.
    """

    name: ClassVar[str] = "trees"

    def __init__(self, arrays: Mapping[str, NDArray[Any]], scaling: Scaling) -> None:
        self.roots, self.left, self.right, self.feature = (arrays[key] for key in ("roots", "left", "right", "feature"))
        self.threshold, self.value, self.importance = (arrays[key] for key in ("threshold", "value", "importance"))

    def __len__(self) -> int:
        return int(self.roots.size)

    @classmethod
    def train(cls, X: Matrix, scaling: Scaling, bags: Bags, n_jobs: int | None) -> Self:
        """Train one tree per bag; each split looks at the square root of the number of columns, chosen at random."""
        from sklearn.tree import DecisionTreeClassifier

        def train_one(bag: int) -> Any:
            rows, target = bags.training(bag)
            tree = DecisionTreeClassifier(
                max_features="sqrt", max_depth=MAX_DEPTH, min_samples_leaf=MIN_LEAF, random_state=bags.seeds[bag]
            )
            return tree.fit(X[rows], target).tree_

        trees = run_parallel(train_one, len(bags), n_jobs)
        starts = np.cumsum([0, *(tree.node_count for tree in trees)])
        nodes = [np.arange(tree.node_count) for tree in trees]
        pairs = list(zip(trees, nodes, starts, strict=False))
        return cls(
            {
                "roots": starts[:-1].astype(np.int64),
                "left": np.concatenate([np.where(t.children_left < 0, own, t.children_left) + s for t, own, s in pairs]),
                "right": np.concatenate([np.where(t.children_right < 0, own, t.children_right) + s for t, own, s in pairs]),
                "feature": np.concatenate([np.maximum(t.feature, 0) for t in trees]).astype(np.int64),
                "threshold": np.concatenate([t.threshold for t in trees]),
                "value": np.concatenate([t.value[:, 0, -1] / t.value[:, 0, :].sum(axis=1) for t in trees]),
                "importance": np.sum([t.compute_feature_importances(normalize=False) for t in trees], axis=0),
            },
            scaling,
        )

    def total(self, X: Matrix) -> FloatArray:
        """Return the sum of the scores over all trees."""
        return self._walk(X, self.roots)

    def score_bag(self, bag: int, X: Matrix) -> FloatArray:
        """Return the scores of one tree."""
        return self._walk(X, self.roots[bag : bag + 1])

    def _walk(self, X: Matrix, roots: IndexArray) -> FloatArray:
        """Return the sum of the values of the leaves that points end in, over some trees."""
        result = np.empty(X.shape[0])
        step = max(1, MAX_BLOCK_ENTRIES // max(roots.size, X.shape[1]))
        for start in range(0, X.shape[0], step):
            block = X[start : start + step]
            points = np.asarray(block.toarray() if is_sparse(block) else block, dtype=np.float32)  # as trees are trained
            node = np.broadcast_to(roots, (points.shape[0], roots.size))
            rows = np.arange(points.shape[0])[:, None]
            for _ in range(MAX_DEPTH):
                goes_left = points[rows, self.feature[node]] <= self.threshold[node]
                below = np.where(goes_left, self.left[node], self.right[node])
                if np.array_equal(below, node):
                    break
                node = below
            result[start : start + step] = self.value[node].sum(axis=1)
        return result

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays."""
        return {key: getattr(self, key) for key in ("roots", "left", "right", "feature", "threshold", "value", "importance")}

    @staticmethod
    def layout(shapes: Shapes, prefix: str, d: int, n_bags: int) -> dict[str, StateArray]:
        """Return the layout of the arrays in a file."""
        n_nodes = shapes.get(f"{prefix}threshold", (0,))[0]
        nodes = {key: StateArray((n_nodes,), rows_of=f"{prefix}threshold") for key in ("left", "right")}
        return {
            **nodes,
            "roots": StateArray((n_bags,), rows_of=f"{prefix}threshold"),
            "feature": StateArray((n_nodes,), rows_of=f"{prefix}importance"),
            "threshold": StateArray((n_nodes,), finite=True),
            "value": StateArray((n_nodes,), finite=True),
            "importance": StateArray((d,), finite=True),
        }


class LinearModels:
    """Logistic regressions on scaled columns: a score is the log odds.

    Attributes
    ----------
    coefficients : array, shape (B, d)
    intercepts : array, shape (B,)
    scaling : Scaling
    """

    name: ClassVar[str] = "logistic"

    def __init__(self, arrays: Mapping[str, NDArray[Any]], scaling: Scaling) -> None:
        self.coefficients, self.intercepts, self.scaling = arrays["coefficients"], arrays["intercepts"], scaling

    def __len__(self) -> int:
        return int(self.intercepts.size)

    @classmethod
    def train(cls, X: Matrix, scaling: Scaling, bags: Bags, n_jobs: int | None) -> Self:
        """Train one logistic regression per bag."""
        from sklearn.linear_model import LogisticRegression

        def train_one(bag: int) -> tuple[FloatArray, float]:
            rows, target = bags.training(bag)
            model = LogisticRegression(max_iter=MAX_ITERATIONS).fit(scaling(X[rows]), target)
            return model.coef_[0], float(model.intercept_[0])

        coefficients, intercepts = zip(*run_parallel(train_one, len(bags), n_jobs), strict=True)
        return cls({"coefficients": np.array(coefficients), "intercepts": np.array(intercepts)}, scaling)

    def total(self, X: Matrix) -> FloatArray:
        """Return the sum of the log odds over all bags."""
        return self._score(X, self.coefficients.sum(axis=0), float(self.intercepts.sum()))

    def score_bag(self, bag: int, X: Matrix) -> FloatArray:
        """Return the log odds of one bag."""
        return self._score(X, self.coefficients[bag], float(self.intercepts[bag]))

    def _score(self, X: Matrix, coefficients: FloatArray, intercept: float) -> FloatArray:
        return np.concatenate([self.scaling(block) @ coefficients for block in _blocks(X, X.shape[1])]) + intercept

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays."""
        return {"coefficients": self.coefficients, "intercepts": self.intercepts}

    @staticmethod
    def layout(shapes: Shapes, prefix: str, d: int, n_bags: int) -> dict[str, StateArray]:  # noqa: ARG004  as of the others
        """Return the layout of the arrays in a file."""
        return {"coefficients": StateArray((n_bags, d), finite=True), "intercepts": StateArray((n_bags,), finite=True)}


class KernelMachines:
    """Support vector machines with an RBF kernel on scaled columns: a score is the decision function.

    Attributes
    ----------
    vectors : array or csr_array, shape (S, d)
        The support vectors of all bags, scaled.
    coefficients : array, shape (B, S)
        The coefficient of each support vector in each bag, mostly zero.
    intercepts : array, shape (B,)
    scaling : Scaling
    """

    name: ClassVar[str] = "svm"

    def __init__(self, arrays: Mapping[str, NDArray[Any]], scaling: Scaling) -> None:
        self.vectors = unpack_matrix(arrays, "vectors")
        self.coefficients, self.intercepts, self.scaling = arrays["coefficients"], arrays["intercepts"], scaling

    def __len__(self) -> int:
        return int(self.intercepts.size)

    @classmethod
    def train(cls, X: Matrix, scaling: Scaling, bags: Bags, n_jobs: int | None) -> Self:
        """Train one support vector machine per bag, or in fewer bags if there are very many points to score."""
        from sklearn.svm import SVC

        def train_one(bag: int) -> tuple[IndexArray, FloatArray, float]:
            rows, target = bags.training(bag)
            model = SVC(gamma=scaling.gamma).fit(scaling(X[rows]), target)
            dual = model.dual_coef_.toarray() if is_sparse(model.dual_coef_) else model.dual_coef_
            return rows[model.support_], np.ravel(dual), float(model.intercept_[0])

        n_used = min(len(bags), max(MIN_KERNEL_BAGS, int(MAX_KERNEL_PRODUCTS / (X.shape[0] * bags.size * _width(X)))))
        trained = run_parallel(train_one, n_used, n_jobs)
        used = np.unique(np.concatenate([rows for rows, _, _ in trained]))
        coefficients = np.zeros((n_used, used.size))
        for bag, (rows, dual, _) in enumerate(trained):
            np.add.at(coefficients[bag], np.searchsorted(used, rows), dual)
        arrays = {"coefficients": coefficients, "intercepts": np.array([intercept for _, _, intercept in trained])}
        return cls(arrays | pack_matrix(scaling(X[used]), "vectors"), scaling)

    def total(self, X: Matrix) -> FloatArray:
        """Return the sum of the decision functions over all bags."""
        return self._score(X, self.vectors, self.coefficients.sum(axis=0), float(self.intercepts.sum()))

    def score_bag(self, bag: int, X: Matrix) -> FloatArray:
        """Return the decision function of one bag."""
        used = np.flatnonzero(self.coefficients[bag])
        return self._score(X, self.vectors[used], self.coefficients[bag, used], float(self.intercepts[bag]))

    def _score(self, X: Matrix, vectors: Matrix, coefficients: FloatArray, intercept: float) -> FloatArray:
        from sklearn.metrics.pairwise import rbf_kernel

        if not vectors.shape[0]:
            return np.full(X.shape[0], intercept)
        blocks = _blocks(X, max(X.shape[1], vectors.shape[0]))
        kernels = (rbf_kernel(self.scaling(block), vectors, gamma=self.scaling.gamma) for block in blocks)
        return np.concatenate([kernel @ coefficients for kernel in kernels]) + intercept

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the arrays."""
        return {"coefficients": self.coefficients, "intercepts": self.intercepts, **pack_matrix(self.vectors, "vectors")}

    @staticmethod
    def layout(shapes: Shapes, prefix: str, d: int, n_bags: int) -> dict[str, StateArray]:
        """Return the layout of the arrays in a file."""
        n_bags = min(n_bags, shapes.get(f"{prefix}intercepts", (0,))[0])
        n_vectors = shapes.get(f"{prefix}vectors", (0,))[0]
        return {
            "vectors": StateArray((n_vectors, d), finite=True),
            "coefficients": StateArray((n_bags, n_vectors), finite=True),
            "intercepts": StateArray((n_bags,), finite=True),
        }


ArrayEnsemble = Trees | LinearModels | KernelMachines
ARRAY_ENSEMBLES: dict[str, type[ArrayEnsemble]] = {kind.name: kind for kind in (Trees, KernelMachines, LinearModels)}


def _width(X: Matrix) -> float:
    """Return the number of entries of a typical row."""
    return max(1.0, X.nnz / X.shape[0]) if is_sparse(X) else float(X.shape[1])


def _blocks(X: Matrix, width: int) -> list[Matrix]:
    """Return the rows in blocks whose products with ``width`` columns fit into memory."""
    step = max(1, MAX_BLOCK_ENTRIES // max(1, width))
    return [X[start : start + step] for start in range(0, X.shape[0], step)]
