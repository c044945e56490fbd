# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""IR as text, bitcode, read-only tables and llvmlite modules."""

from __future__ import annotations

from collections import Counter, namedtuple
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional

from .config import Config
from .errors import RequestError, nearest, need

if TYPE_CHECKING:
    from .recording import Instance
    from .server import Server


class Column(Sequence[Any]):
    """A column of a table: numbers, or texts that are stored once."""

    __slots__ = ("codes", "texts")

    def __init__(self, codes: memoryview, texts: Optional[list[str]]) -> None:
        self.codes = codes  # of 32-bit integers; with texts, indices into these
        self.texts = texts

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, index: Any) -> Any:
        got = self.codes[index]
        if isinstance(index, slice):
            return Column(got, self.texts)
        return got if self.texts is None else self.texts[got]

    def __iter__(self) -> Iterator[Any]:
        texts = self.texts
        return iter(self.codes) if texts is None else (texts[code] for code in self.codes)

    def counts(self) -> Counter[Any]:
        """Returns how often each value occurs."""
        counted = Counter(self.codes)
        if self.texts is None:
            return counted
        return Counter({self.texts[code]: count for code, count in counted.items()})

    def to_numpy(self) -> Any:
        """Returns the codes as a NumPy array, without a copy."""
        return need("numpy", "numpy").frombuffer(self.codes, "i4") if len(self) else need("numpy", "numpy").empty(0, "i4")

    def __repr__(self) -> str:
        shown = ", ".join(repr(v) for v in list(self[:6]))
        return f"<Column [{shown}{', ...' if len(self) > 6 else ''}]>"


class Table(Sequence[Any]):
    """A read-only table. Columns are attributes, rows are named tuples.

    A number that refers to another table is the index of a row there; -1 refers to none.
    """

    def __init__(self, name: str, columns: Mapping[str, Column], rows: int) -> None:
        self.columns = dict(columns)
        self._title = name
        self._rows = rows
        self._row: Any = namedtuple("Row", self.columns)  # type: ignore[misc]

    def __len__(self) -> int:
        return self._rows

    def __getattr__(self, name: str) -> Column:
        columns = self.__dict__.get("columns", {})
        if name in columns:
            return columns[name]
        raise AttributeError(f"table has no column {name!r}{nearest(name, columns)}")

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, str):
            return getattr(self, index)
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self._rows))]
        if not -self._rows <= index < self._rows:
            raise IndexError(f"row {index} of {self._rows}")
        return self._row(*(column[index] for column in self.columns.values()))

    def __iter__(self) -> Iterator[Any]:
        return map(self._row._make, zip(*self.columns.values()))

    def to_pandas(self) -> Any:
        """Returns a pandas DataFrame; texts are categories."""
        pandas = need("pandas", "pandas")
        data = {}
        for name, column in self.columns.items():
            codes = column.to_numpy()
            data[name] = codes if column.texts is None else pandas.Categorical.from_codes(codes, column.texts)
        return pandas.DataFrame(data)

    def __repr__(self) -> str:
        return f"<Table {self._title}: {len(self)} rows of {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        from ._html import table

        shown = [list(row) for row in self[:20]]
        more = f", the first 20 of {len(self)} rows" if len(self) > 20 else ""
        return table(list(self.columns), shown, self._title + more)


class Module:
    """The IR of a kernel, as recorded or after a configuration's pipeline."""

    def __init__(
        self,
        instance: Instance,
        config: Config,
        optimized: bool,
        source: Optional[bytes],
        server: Optional[Server] = None,
    ) -> None:
        self.instance = instance
        self.config = config
        self.optimized = optimized
        self._source = source
        self._server = server
        self._text: Optional[str] = None
        self._bitcode: Optional[bytes] = None
        self._tables: Optional[dict[str, Table]] = None

    def _read(self, form: str) -> tuple[dict[str, Any], bytes]:
        server = self._server
        if server is None or server.closed:
            server = self.instance.kernel._reader()
        answer, data = server.call(
            "ir",
            self._source or b"",
            config=self.config.to_dict(),
            instance=self.instance.record_id,
            optimized=self.optimized,
            form=form,
        )
        return answer["tables"], bytes(data or b"")

    @property
    def text(self) -> str:
        """The IR as text, which can be changed and submitted: ``executor.submit(ir=...)``."""
        if self._text is None:
            self._text = self._read("text")[1].decode()
        return self._text

    @property
    def bitcode(self) -> bytes:
        """The IR as bitcode."""
        if self._bitcode is None:
            self._bitcode = self._read("bitcode")[1]
        return self._bitcode

    def _source_bytes(self) -> bytes:
        return self.bitcode

    @property
    def tables(self) -> Mapping[str, Table]:
        """All tables, by name."""
        if self._tables is None:
            head, data = self._read("tables")
            view = memoryview(data)
            self._tables = {}
            for name, table in head.items():
                rows = table["rows"]
                columns = {}
                for column in table["columns"]:
                    at = column["offset"]
                    columns[column["name"]] = Column(view[at : at + 4 * rows].cast("i"), column.get("texts"))
                self._tables[name] = Table(name, columns, rows)
        return self._tables

    @property
    def functions(self) -> Table:
        """name, type, is_declaration, args, first_block, blocks."""
        return self.tables["functions"]

    @property
    def blocks(self) -> Table:
        """function, name, first_instruction, instructions, loop, loop_depth."""
        return self.tables["blocks"]

    @property
    def instructions(self) -> Table:
        """block, opcode, type, name, first_operand, operands, callee, predicate, file, line, column."""
        return self.tables["instructions"]

    @property
    def operands(self) -> Table:
        """instruction, kind, value (row or number, by kind), type, text."""
        return self.tables["operands"]

    @property
    def edges(self) -> Table:
        """The control flow: source, target (blocks), successor."""
        return self.tables["edges"]

    @property
    def loops(self) -> Table:
        """function, header, parent, depth, blocks."""
        return self.tables["loops"]

    def opcodes(self) -> Counter[str]:
        """Returns how often each opcode occurs."""
        return self.instructions.opcode.counts()

    def to_llvmlite(self) -> Any:
        """Returns an ``llvmlite.binding.ModuleRef``. llvmlite 0.50 has LLVM 22, as the suite."""
        binding = need("llvmlite.binding", "llvmlite")
        if binding.llvm_version_info[0] < 22:
            version = ".".join(map(str, binding.llvm_version_info))
            raise RequestError(
                f"llvmlite has LLVM {version}, which cannot read IR of LLVM 22: pip install 'llvm-mneme[llvmlite]'"
            )
        return binding.parse_bitcode(self.bitcode)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        what = f"optimized by {self.config!r}" if self.optimized else "as recorded"
        return f"<Module of {self.instance.kernel.name}, {what}>"

    def _repr_html_(self) -> str:
        from ._html import table

        return table(["opcode", "instructions"], self.opcodes().most_common(), repr(self)[1:-1])


