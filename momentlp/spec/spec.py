"""The declarative spec: validated when built, read from and written to JSON and YAML, compiled with data to a problem."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BaseModel, BeforeValidator, Field, SerializeAsAny, model_serializer, model_validator
from pydantic_core import PydanticSerializationError

from momentlp.errors import CompileError, DataError, FileFormatError, SpecError
from momentlp.features import FeatureMap, Linear
from momentlp.formats.untrusted_text import MAX_JSON_LENGTH, MAX_YAML_LENGTH, format_yaml, parse_json, parse_yaml
from momentlp.kinds import Declared, Kind, short_repr
from momentlp.points.arrays import constant_vector, one_entry_if_constant
from momentlp.points.chunked import Chunked
from momentlp.points.sources import as_table
from momentlp.points.statistics import summarise
from momentlp.points.validation import as_sample, as_vector
from momentlp.problem.problem import Problem
from momentlp.runtime.atomic_files import write_atomically
from momentlp.spec.consistency import find_contradiction
from momentlp.spec.constraints import Constraint
from momentlp.spec.data import Data
from momentlp.spec.prepared import Prepared, fit_part, with_distinct_names
from momentlp.spec.tolerances import Absolute, Tolerance

__all__ = ["Spec"]

SPEC_VERSION = 1


class Spec(Declared):
    """What is known about a class: features with a known mean, how well it is known, and further constraints.

    Parameters
    ----------
    features : FeatureMap
        Default: ``Linear()``, the columns of X.
    tolerance : Tolerance
        How far the mean of the set may lie from the mean of the class. Default: ``Absolute(0.0)``, the exact problem of the
        theorem.
    constraints : sequence of Constraint
        Default: none.
    whole : bool
        Whether memberships must be 0 or 1, or integers up to the cap where a row stands for several points.

    Raises
    ------
    SpecError
        If a part is not valid, or constraints contradict each other whatever the data.

    Examples
    --------
    >>> spec = Spec(tolerance=Absolute(0.5))
    >>> Spec.from_json(spec.to_json()) == spec
    True
    >>> spec.compile([[0.0], [1.0], [5.0]], labelled=[0, 1])
    Problem(3 points, 1 moment: x0)
    """

    version: Literal[1] = 1
    features: Annotated[SerializeAsAny[FeatureMap], BeforeValidator(FeatureMap.parse)] = Field(default_factory=Linear)
    tolerance: Annotated[SerializeAsAny[Tolerance], BeforeValidator(Tolerance.parse)] = Field(
        default_factory=lambda: Absolute(0.0)
    )
    constraints: tuple[Annotated[SerializeAsAny[Constraint], BeforeValidator(Constraint.parse)], ...] = ()
    whole: bool = False

    @model_serializer(mode="wrap")
    def _leave_out_defaults(self, write: Any) -> dict[str, Any]:
        """Write ``whole`` only if it is set, so that older versions of momentlp read all other specs."""
        fields: dict[str, Any] = write(self)
        return fields if self.whole else {name: value for name, value in fields.items() if name != "whole"}

    @model_validator(mode="after")
    def _check_consistent(self) -> Self:
        """Refuse constraints that contradict each other whatever the data."""
        if found := find_contradiction(self.constraints):
            first, second, why = found
            raise ValueError(f"constraints.{first} and constraints.{second} contradict each other: {why}.")
        return self

    def compile(
        self, X: Any, *, labelled: Any = None, sample: Any = None, mean: Any = None, sample_weight: Any = None
    ) -> Problem:
        """Build the problem from the spec and the data. Exactly one of ``labelled``, ``sample`` and ``mean`` must be given.

        Parameters
        ----------
        X : array, frame or sparse matrix, shape (N, d)
            The points to classify. A ``numpy.memmap``, a zarr array, a dask array or a table of
            :func:`momentlp.open_points` is read in chunks and need not fit in memory.
        labelled : indices or boolean mask into X, optional
            Points of X known to belong to the class.
        sample : array, frame or sparse matrix, shape (l, d), optional
            Known members of the class that are not part of X.
        mean : array, shape (k,), optional
            The mean of the class in feature space, if it is known.
        sample_weight : array, shape (N,), optional
            How many points each row of X stands for, in the objective and in the moments. The weights become the caps of
            the memberships, so a row of weight 2 is two points. In the mean, labelled rows count by their weight.

        Returns
        -------
        Problem

        Raises
        ------
        DataError
            If an array cannot be used as it is.
        CompileError
            If the parts do not fit together, or a constraint fails.

        Examples
        --------
        >>> Spec().compile([[0.0], [1.0], [5.0]], mean=[0.5]).names
        ('x0',)
        """
        given = {"labelled": labelled, "sample": sample, "mean": mean}
        chosen = [name for name, value in given.items() if value is not None]
        if len(chosen) != 1:
            got = " and ".join(chosen) or "none of them"
            raise CompileError(f"compile needs exactly one of labelled=, sample= and mean=, but got {got}.")
        prepared = self.prepare(X, sample=sample, sample_weight=sample_weight)
        return prepared.compile(labelled=labelled, mean=mean)

    def prepare(self, X: Any, *, sample: Any = None, sample_weight: Any = None) -> Prepared:
        """Fit the feature maps to the points, before the labelled points are known.

        ``prepare(X).compile(labelled=idx)`` is ``compile(X, labelled=idx)``. For many labelled samples among the same
        points, only the second step has to be repeated.

        Parameters
        ----------
        X, sample, sample_weight
            As in :meth:`compile`.

        Returns
        -------
        Prepared

        Raises
        ------
        DataError
            If an array cannot be used as it is.

        Examples
        --------
        >>> prepared = Spec().prepare([[0.0], [1.0], [5.0]])
        >>> [prepared.compile(labelled=known).blocks[0].origin.tolist() for known in ([0], [0, 1])]
        [[0.0], [0.5]]
        """
        points, columns = as_table(X, "X")
        n_points = points.shape[0]
        ones = constant_vector(1.0, n_points)
        caps = ones if sample_weight is None else as_vector(sample_weight, n_points, "sample_weight")
        (entries,) = one_entry_if_constant(caps)
        if (entries < 0).any():
            raise DataError(
                f"sample_weight must not be negative, but entry {int(np.argmax(entries < 0))} is {entries.min()}."
            )
        others = None if sample is None else as_sample(sample, points, columns)
        has_absent = (entries > 0).any() and not (entries > 0).all()  # if no point has weight, maps learn from all points
        present = np.flatnonzero(caps) if has_absent and not isinstance(points, Chunked) else None
        rows = points if present is None else points[present]
        parts = with_distinct_names([fit_part(part, rows, columns, others) for part in self.features.parts()])
        summarise(*(part.features for part in parts if isinstance(part.features, Chunked)))
        n_sample = 0 if others is None else others.shape[0]
        data = Data(points, columns, present)
        return Prepared(data, parts, self.tolerance, self.constraints, caps, ones, X, present, n_sample, self.whole)

    def to_json(self) -> str:
        """Return the spec as JSON text; :meth:`from_json` reads it.

        Raises
        ------
        SpecError
            If a part cannot be written, as for :meth:`to_fields`.

        Examples
        --------
        >>> print(Spec().to_json()[:16])
        {
          "version": 1
        """
        return json.dumps(self.to_fields(), indent=2)

    def to_fields(self) -> dict[str, Any]:
        """Return the spec as dictionaries and lists, as JSON and YAML hold them.

        Raises
        ------
        SpecError
            If a part cannot be written, such as a transformer that is not part of scikit-learn.

        Examples
        --------
        >>> Spec().to_fields()["tolerance"]
        {'kind': 'absolute', 'eps': 0.0, 'standardised': False}
        """
        try:
            return self.model_dump(mode="json")
        except PydanticSerializationError as error:
            raise SpecError(f"the spec cannot be written: {str(error).rpartition('ValueError: ')[2]}") from None

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a spec from JSON text.

        Parts are looked up by ``kind`` among the registered kinds. Nothing that the text names is imported or run.

        Parameters
        ----------
        text : str
            What :meth:`to_json` returns. For a file use :meth:`load`.

        Returns
        -------
        Spec

        Raises
        ------
        SpecError
            If the text is too long, is not JSON, has another version, or does not hold a valid spec.

        Examples
        --------
        >>> Spec.from_json('{"tolerance": {"kind": "relative", "delta": 0.1}}').tolerance
        Relative(kind='relative', delta=0.1, standardised=False, side='both')
        """
        _require_text(text, "from_json")
        try:
            fields = parse_json(text)
        except FileFormatError as error:
            hint = " To read a file, use Spec.load(path)." if text.strip().endswith(".json") else ""
            raise SpecError(f"the spec is not valid JSON: {error}.{hint}") from None
        return cls.from_fields(fields)

    def to_yaml(self) -> str:
        """Return the spec as YAML text; :meth:`from_yaml` reads it. Needs PyYAML.

        Raises
        ------
        SpecError
            If a part cannot be written, as for :meth:`to_fields`.
        ExtraMissingError
            If PyYAML is not installed.

        Examples
        --------
        >>> print(Spec().to_yaml().splitlines()[0])
        version: 1
        """
        return format_yaml(self.to_fields())

    @classmethod
    def from_yaml(cls, text: str) -> Self:
        """Read a spec from YAML text. Needs PyYAML.

        Aliases, merge keys and tags of types other than plain values are refused. Otherwise as :meth:`from_json`.

        Parameters
        ----------
        text : str
            What :meth:`to_yaml` returns. For a file use :meth:`load`.

        Returns
        -------
        Spec

        Raises
        ------
        SpecError
            If the text is too long, is not YAML, has another version, or does not hold a valid spec.
        ExtraMissingError
            If PyYAML is not installed.

        Examples
        --------
        >>> Spec.from_yaml("tolerance: {kind: relative, delta: 0.1}").tolerance.delta
        0.1
        """
        _require_text(text, "from_yaml", MAX_YAML_LENGTH)
        try:
            fields = parse_yaml(text)
        except FileFormatError as error:
            raise SpecError(f"the spec is not valid YAML: {error}.") from None
        return cls.from_fields(fields)

    @classmethod
    def from_fields(cls, fields: Any) -> Self:
        """Build a spec from dictionaries and lists, as :meth:`to_fields` returns them.

        Parameters
        ----------
        fields : dict
            The fields of the spec by name; a part is a dictionary with its ``kind``.

        Returns
        -------
        Spec

        Raises
        ------
        SpecError
            If ``fields`` is not a dictionary, has another version, or is not a valid spec.

        Examples
        --------
        >>> Spec.from_fields(Spec().to_fields()) == Spec()
        True
        """
        if not isinstance(fields, dict):
            raise SpecError(f"a spec is a table of fields, but the text holds {type(fields).__name__}.")
        if fields.get("version", SPEC_VERSION) != SPEC_VERSION:
            raise SpecError(
                f"the spec has version {short_repr(fields['version'])}, but this momentlp reads version {SPEC_VERSION}: "
                "upgrade momentlp, or write the spec anew."
            )
        return cls(**{str(name): value for name, value in fields.items()})

    def save(self, path: str | Path) -> None:
        """Write the spec to a file: YAML if its name ends in ``.yaml`` or ``.yml``, JSON otherwise.

        Parameters
        ----------
        path : str or Path
            The file. An interrupted save leaves no partial file.

        Raises
        ------
        SpecError
            If a part cannot be written, or the text would be too long for :meth:`load`.
        DataError
            If the folder does not exist.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Spec(tolerance=Absolute(0.5)).save(Path(folder) / "spec.json")
        ...     Spec.load(Path(folder) / "spec.json").tolerance.eps
        0.5
        """
        text = self.to_yaml() if _is_yaml(path) else self.to_json() + "\n"
        _require_text(text, "Spec.load", MAX_YAML_LENGTH if _is_yaml(path) else MAX_JSON_LENGTH)
        write_atomically(Path(path), lambda stream: stream.write(text.encode()))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a spec from a JSON or YAML file. Nothing that the file names is imported or run.

        Parameters
        ----------
        path : str or Path
            YAML if the name ends in ``.yaml`` or ``.yml``, JSON otherwise.

        Returns
        -------
        Spec

        Raises
        ------
        SpecError
            If the file cannot be read or does not hold a valid spec.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "spec.json"
        ...     _ = path.write_text('{"tolerance": {"kind": "absolute", "eps": 0.5}}')
        ...     Spec.load(path).tolerance.eps
        0.5
        """
        try:
            with Path(path).open("rb") as stream:
                text = stream.read(MAX_JSON_LENGTH + 1).decode()
        except (OSError, ValueError) as error:
            raise SpecError(f"cannot read the spec {str(path)!r}: {error}.") from None
        try:
            return cls.from_yaml(text) if _is_yaml(path) else cls.from_json(text)
        except SpecError as error:
            raise SpecError(f"{path}: {error}") from None

    @staticmethod
    def json_schema() -> dict[str, Any]:
        """Return the JSON schema of specs with every registered kind, for editors that complete and check spec files.

        Examples
        --------
        >>> sorted(Spec.json_schema()["$defs"]["Spec"]["properties"])
        ['constraints', 'features', 'tolerance', 'version', 'whole']
        """
        from pydantic.json_schema import models_json_schema

        families: list[type[Kind]] = [FeatureMap, Tolerance, Constraint]
        kinds = {family: family.known() for family in families}
        models: list[type[BaseModel]] = [Spec, *(kind for known in kinds.values() for kind in known.values())]
        references, schema = models_json_schema([(model, "validation") for model in models], title="momentlp spec")
        for family, known in kinds.items():
            choices = []
            for name, kind in known.items():
                reference = references[kind, "validation"]
                definition = schema["$defs"][reference["$ref"].rpartition("/")[2]]
                definition["properties"]["kind"] = {"const": name}
                definition["required"] = sorted({"kind", *definition.get("required", [])})
                choices.append(reference)
            schema["$defs"][family.__name__] = {"oneOf": choices}
        return {**schema, "$schema": "https://json-schema.org/draft/2020-12/schema", **references[Spec, "validation"]}


def _is_yaml(path: str | Path) -> bool:
    return Path(path).suffix.lower() in (".yaml", ".yml")


def _require_text(text: Any, reader: str, max_length: int = MAX_JSON_LENGTH) -> None:
    if not isinstance(text, str):
        raise SpecError(f"{reader} takes text, not {type(text).__name__}: for a file use Spec.load(path).")
    if len(text) > max_length:
        hint = "Keep it in JSON." if max_length < MAX_JSON_LENGTH else "Is this a spec at all?"
        raise SpecError(f"{reader} takes at most {max_length >> 20} MiB of such text. {hint}")
