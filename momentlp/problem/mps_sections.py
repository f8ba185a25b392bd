"""The sections of an MPS file, read line by line into a plain model."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from momentlp.problem.mps_fields import MARKER, LineError, Splitter, parse_bound, parse_decimal, parse_number, show
from momentlp.problem.mps_model import OBJECTIVE, MpsModel

__all__ = ["SectionReader"]

SECTIONS = ("NAME", "OBJSENSE", "ROWS", "COLUMNS", "RHS", "RANGES", "BOUNDS", "ENDATA")  # in the order of a file
NEEDED = {"COLUMNS": "ROWS", "RHS": "COLUMNS", "RANGES": "COLUMNS", "BOUNDS": "COLUMNS", "ENDATA": "COLUMNS"}
SENSES = {"MAX": True, "MAXIMIZE": True, "MAXIMISE": True, "MIN": False, "MINIMIZE": False, "MINIMISE": False}
REFUSED = {
    **dict.fromkeys(("SOS", "SOS1", "SOS2", "SETS"), "special ordered sets"),
    **dict.fromkeys(("QUADOBJ", "QMATRIX", "QSECTION"), "a quadratic objective"),
    "QCMATRIX": "quadratic constraints",
    "CSECTION": "cones",
    "INDICATORS": "indicator constraints",
    **dict.fromkeys(("GENCONS", "PWLOBJ", "PWLNAM", "PWLCON"), "constraints that are not linear"),
    **dict.fromkeys(("LAZYCONS", "USERCUTS"), "lazy constraints or cuts"),
    **dict.fromkeys(("OBJNAME", "OBJECTIVE", "MULTIOBJ"), "a choice of objectives"),
}
BOUND_SIDES = {
    "UP": "u", "UI": "u", "LO": "l", "LI": "l", "FX": "lu", "FR": "lu", "MI": "l", "PL": "u", "BV": "lu",
}  # fmt: skip
FIXED_VALUES = {"FR": (-np.inf, np.inf), "MI": (-np.inf, np.inf), "PL": (0.0, np.inf), "BV": (0.0, 1.0)}


class SectionReader:
    """Reads the lines of an MPS file one after the other into ``model``.

    Parameters
    ----------
    split : callable
        Splits a line into fields: one of the functions of :mod:`momentlp.problem.mps_fields`.
    """

    def __init__(self, split: Splitter) -> None:
        self.model = MpsModel()
        self._split = split
        self._section = ""
        self._sections: set[str] = set()
        self._line = 0
        self._is_integer = False
        self._column = ""
        self._column_rows: set[int] = set()
        self._set_names: dict[str, str] = {}
        self._readers = {
            "ROWS": self._read_row,
            "COLUMNS": self._read_column,
            "RHS": self._read_rhs,
            "RANGES": self._read_range,
            "BOUNDS": self._read_bound,
        }

    def read(self, lines: Iterable[tuple[int, str]]) -> MpsModel:
        """Read all lines and return the model.

        Raises
        ------
        LineError
            If a line is wrong or the end is missing.
        """
        try:
            for self._line, text in lines:
                if self._section == "ENDATA":
                    raise ValueError("it stands after ENDATA")
                if text[0].isspace():
                    self._read_entries(text)
                else:
                    self._start_section(text.split())
            if self._section != "ENDATA":
                raise ValueError("the file ends here without ENDATA: it is cut short, or not an MPS file")
        except LineError:
            raise
        except ValueError as error:
            raise LineError(self._line, str(error)) from None
        self.model.indptr.append(len(self.model.indices))
        return self.model

    def _start_section(self, words: list[str]) -> None:
        section = words[0].upper()
        if section in REFUSED:
            raise ValueError(f"section {section} holds {REFUSED[section]}; only linear programs with integers are read")
        if section not in SECTIONS:
            raise ValueError(f"there is no section {show(words[0])}. Entries of a section begin with a blank")
        if section in self._sections:
            raise ValueError(f"section {section} occurs twice")
        needed = NEEDED.get(section)
        if needed and needed not in self._sections:
            raise ValueError(f"section {section} comes before section {needed}")
        if section == "ROWS" and "COLUMNS" in self._sections:
            raise ValueError("section ROWS comes after section COLUMNS")
        self._section = section
        self._sections.add(section)
        if section == "OBJSENSE" and len(words) > 1:
            self._read_sense(words[1:])

    def _read_entries(self, text: str) -> None:
        section = self._section
        if section == "OBJSENSE":
            self._read_sense(text.split())
        elif section not in self._readers:
            raise ValueError(f"section {section} has no entries" if section else "it stands before the first section")
        else:
            self._readers[section](self._split(text, section))

    def _read_sense(self, words: list[str]) -> None:
        if len(words) != 1 or words[0].upper() not in SENSES:
            raise ValueError(f"the sense of the objective is MAX or MIN, not {show(' '.join(words))}")
        self.model.maximise = SENSES[words[0].upper()]

    def _read_row(self, fields: list[str]) -> None:
        kind, name = fields[0].upper(), fields[1]
        model = self.model
        if kind not in ("N", "L", "G", "E"):
            raise ValueError(f"row {show(name)} is of type {show(fields[0])}, not N, L, G or E")
        if name in model.rows:
            raise ValueError(f"row {show(name)} occurs twice")
        if kind == "N" and not model.has_objective:
            model.rows[name], model.has_objective = OBJECTIVE, True
        else:
            model.rows[name] = len(model.row_types)
            model.row_types.append(kind)

    def _read_column(self, fields: list[str]) -> None:
        if fields[1] == MARKER:
            self._read_marker(fields[2])
            return
        model, name = self.model, fields[0]
        if name != self._column or not model.columns:
            self._start_column(name)
        for at in range(1, len(fields), 2):
            row, value = self._find_row(fields[at]), parse_number(fields[at + 1])
            if row in self._column_rows:
                raise ValueError(f"column {show(name)} has two entries in row {show(fields[at])}")
            self._column_rows.add(row)
            if row == OBJECTIVE:
                model.cost[-1] = value
            else:
                model.indices.append(row)
                model.values.append(value)

    def _read_marker(self, kind: str) -> None:
        starts = {"'INTORG'": True, "'INTEND'": False}.get(kind.upper())
        if starts is None:
            raise ValueError(f"the marker {show(kind)} is not 'INTORG' or 'INTEND'")
        if starts == self._is_integer:
            raise ValueError("'INTORG' follows 'INTORG'" if starts else "'INTEND' comes without 'INTORG'")
        self._is_integer = starts

    def _start_column(self, name: str) -> None:
        model = self.model
        if not name:
            raise ValueError("the name of the column is missing")
        if name in model.columns:
            raise ValueError(f"column {show(name)} began before: the entries of a column must stand together")
        model.columns[name] = len(model.columns)
        model.column_lines.append(self._line)
        model.indptr.append(len(model.indices))
        model.cost.append(0.0)
        model.integer.append(self._is_integer)
        self._column, self._column_rows = name, set()

    def _read_rhs(self, fields: list[str]) -> None:
        self._check_set(fields[0])
        for at in range(1, len(fields), 2):
            row, value = self._find_row(fields[at]), parse_decimal(fields[at + 1])
            if row == OBJECTIVE and value:
                constant = -float(value)
                raise ValueError(
                    f"the objective {show(fields[at])} has the constant {constant!r}, a problem has none: remove it"
                )
            if row in self.model.rhs:
                raise ValueError(f"row {show(fields[at])} has two right sides")
            self.model.rhs[row] = value

    def _read_range(self, fields: list[str]) -> None:
        self._check_set(fields[0])
        for at in range(1, len(fields), 2):
            row, value = self._find_row(fields[at]), parse_decimal(fields[at + 1])
            if row == OBJECTIVE or self.model.row_types[row] == "N":
                raise ValueError(f"row {show(fields[at])} is of type N and cannot have a range")
            if row in self.model.ranges:
                raise ValueError(f"row {show(fields[at])} has two ranges")
            self.model.ranges[row] = value

    def _read_bound(self, fields: list[str]) -> None:
        kind, name = fields[0].upper(), fields[2]
        model = self.model
        if kind not in BOUND_SIDES:
            hint = ": semi-continuous columns cannot be read" if kind == "SC" else f", not {', '.join(BOUND_SIDES)}"
            raise ValueError(f"the bound of column {show(name)} is of type {show(fields[0])}{hint}")
        self._check_set(fields[1])
        if name not in model.columns:
            raise ValueError(f"there is no column {show(name)}")
        column = model.columns[name]
        low, high = FIXED_VALUES[kind] if kind in FIXED_VALUES else (parse_bound(fields[3]),) * 2
        if fields[3] and kind in FIXED_VALUES:
            parse_bound(fields[3])
        for side, value, bounds in (("l", low, model.lower), ("u", high, model.upper)):
            if side in BOUND_SIDES[kind]:
                if column in bounds:
                    raise ValueError(f"column {show(name)} has two {'lower' if side == 'l' else 'upper'} bounds")
                bounds[column] = value
        if kind in ("UI", "LI", "BV"):
            model.integer[column] = True
        model.bound_lines[column] = self._line

    def _find_row(self, name: str) -> int:
        if name not in self.model.rows:
            raise ValueError(f"there is no row {show(name)}")
        return self.model.rows[name]

    def _check_set(self, name: str) -> None:
        first = self._set_names.setdefault(self._section, name) if name else name
        if name != first:
            raise ValueError(f"{self._section} has two sets, {show(first)} and {show(name)}: keep one")
