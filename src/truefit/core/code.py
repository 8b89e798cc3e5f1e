"""Code: what compiled code refers to: globals, imports, and names that hide what it depends on."""

from __future__ import annotations

import dis
import functools
import importlib.util
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

#: Builtins by which code looks up names that cannot be seen in it.
_DYNAMIC = frozenset({"globals", "eval", "exec", "compile", "__import__", "input"})
#: Attributes by which code reaches modules or frames behind its names, or the environment: variables, folders, clocks.
_HIDING = frozenset(
    {
        *("environ", "environb", "getenv", "getenvb", "expandvars"),
        *("import_module", "__import__", "spec_from_file_location", "exec_module", "load_module"),
        *("run_path", "run_module", "_getframe", "_current_frames", "currentframe"),
        *("exists", "lexists", "isfile", "is_file", "isdir", "is_dir", "getmtime", "getsize", "stat", "lstat"),
        *("listdir", "scandir", "iterdir", "glob", "iglob", "rglob", "walk", "gethostname"),
        *("now", "utcnow", "today", "uuid1", "uuid4", "urandom", "token_bytes", "token_hex"),
        *("__globals__", "__builtins__", "__subclasses__", "get_objects", "get_referrers"),
    }
)
#: Readers of files and databases that do not go through Python's ``open``, so that nobody sees them at work.
_NATIVE_READERS = frozenset(
    {
        *("read_csv", "read_parquet", "read_feather", "read_ipc", "read_ndjson", "read_json", "read_excel"),
        *("read_table", "read_database", "read_database_uri", "read_sql", "read_sql_table", "read_sql_query"),
        *("read_hdf", "read_orc", "read_avro", "read_delta", "scan_csv", "scan_parquet", "scan_ipc"),
        *("scan_ndjson", "scan_delta", "ParquetFile", "ParquetDataset", "imread", "open_dataset"),
    }
)
_NATIVE_PACKAGES = frozenset({"h5py", "netCDF4", "zarr", "duckdb", "tables", "rasterio"})


@dataclass(frozen=True)
class Import:
    """An import statement in a function."""

    name: str
    level: int
    taken: tuple[str, ...]

    def resolved(self, space: Mapping[str, Any]) -> str:
        """Return the full name of the module, from the globals of the function as Python does.

        Examples
        --------
        >>> Import("types", 1, ()).resolved({"__package__": "mine.models"})
        'mine.models.types'
        """
        if not self.level:
            return self.name
        package = space.get("__package__")
        if package is None:
            spec = space.get("__spec__")
            package = spec.parent if spec is not None else str(space.get("__name__", "")).rpartition(".")[0]
        return importlib.util.resolve_name("." * self.level + self.name, package)


@dataclass(frozen=True)
class CodeFacts:
    """What a piece of code refers to, the functions and classes inside it included.

    Attributes
    ----------
    globals : frozenset of str
        Names looked up in the module or among the builtins.
    names : frozenset of str
        All names, attributes included.
    imports : tuple of Import
    hidden : frozenset of str
        Names by which it depends on what cannot be seen in it.
    """

    globals: frozenset[str]
    names: frozenset[str]
    imports: tuple[Import, ...]
    hidden: frozenset[str]


@functools.lru_cache(maxsize=10_000)
def facts_of(code: types.CodeType) -> CodeFacts:
    """Return what code refers to.

    Examples
    --------
    >>> def f(x):
    ...     from os import path
    ...     return SCALE * x
    >>> facts = facts_of(f.__code__)
    >>> sorted(facts.globals), facts.imports
    (['SCALE'], (Import(name='os', level=0, taken=('path',)),))
    >>> sorted(facts_of((lambda: globals()["SCALE"]).__code__).hidden)
    ['globals']
    """
    found_globals: set[str] = set()
    names: set[str] = set()
    imports: list[Import] = []
    for part in _parts(code):
        names.update(part.co_names)
        before: list[Any] = []
        for step in dis.get_instructions(part):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"):
                found_globals.add(str(step.argval))
            elif step.opname == "IMPORT_NAME":
                level, taken = before[-2:]
                imports.append(Import(str(step.argval), int(level or 0), tuple(taken or ())))
            before.append(step.argval)
    hidden = (found_globals & _DYNAMIC) | (names & (_HIDING | _NATIVE_READERS))
    if "modules" in names and ("sys" in found_globals or any(found.name == "sys" for found in imports)):
        hidden |= {"sys.modules"}
    reached = found_globals | {found.name.partition(".")[0] for found in imports}
    return CodeFacts(
        frozenset(found_globals), frozenset(names), tuple(imports), frozenset(hidden | (reached & _NATIVE_PACKAGES))
    )


def _parts(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _parts(constant)
