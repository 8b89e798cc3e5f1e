"""The page of the speed benchmarks: what was measured is kept beside it, so that a run can be gone on with."""

from __future__ import annotations

import importlib
import io
import json
import os
import platform
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from importlib.metadata import version
from inspect import cleandoc
from pathlib import Path

from benchmarks.table import Row, markdown, show

#: Benchmarks of speed, in the order of the page; each module has ``rows()``, and what that prints are notes.
NAMES = (
    *("honest_tuned", "raw_adult", "triangle", "agghoo_speed", "by_hand"),
    *("loo", "pipelines", "paths", "same_rows", "all_metrics"),
    *("overhead", "ordinary", "workers", "growth"),
)

ABOUT = """\
Time for the same results with scikit-learn (the peer) and with truefit, both measured in the same run. *Fits requested*
is the number of fits that the methods request, *run* the number of fits that were run. *Max difference* is the largest
difference between results that must be equal; it is omitted if the two use different splits. A target is the
minimum ratio of the times. [Racing](performance-racing.md) has its own page."""


@dataclass(frozen=True)
class Measured:
    """What one benchmark has found, and where."""

    rows: tuple[Row, ...]
    notes: str
    machine: str

    @classmethod
    def read(cls, kept):
        """Return what was kept as plain values."""
        return cls(tuple(Row(**row) for row in kept["rows"]), kept["notes"], kept["machine"])


def machine():
    """Return the machine in words."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = ", ".join(f"{name} {version(name)}" for name in ("scikit-learn", "numpy", "scipy", "pandas", "truefit"))
    python = platform.python_version()
    return f"{platform.machine()}, {cores} cores, {memory:.0f} GB, {platform.system()}, Python {python}, {versions}"


def measured(name):
    """Run one benchmark, and print what it finds as it comes."""
    notes, found = io.StringIO(), []
    rows = importlib.import_module(f"benchmarks.{name}").rows()

    def noted():
        while True:
            with redirect_stdout(notes):
                row = next(rows, None)
            if row is None:
                return
            found.append(row)
            yield row

    show(noted())
    print(notes.getvalue(), end="")
    return Measured(tuple(found), cleandoc(notes.getvalue()), machine())


class Page:
    """A page in Markdown, and beside it a file of the same name with what was measured."""

    def __init__(self, path):
        self.path = Path(path)
        self.kept = self.path.with_suffix(".json")
        found = json.loads(self.kept.read_text()) if self.kept.exists() else {}
        self.found = {name: Measured.read(each) for name, each in found.items()}

    def missing(self):
        """Names of the benchmarks that have no place on the page yet."""
        return [name for name in NAMES if name not in self.found]

    def add(self, name, found):
        """Put what a benchmark has found in the place of what it had, and write the page."""
        self.found[name] = found
        picture = getattr(importlib.import_module(f"benchmarks.{name}"), "picture", None)
        if picture is not None:
            images = self.path.parent / "images"
            images.mkdir(exist_ok=True)
            picture(found.rows, images / f"{name}.svg")
        self.kept.write_text(json.dumps({name: asdict(each) for name, each in self.found.items()}, indent=1) + "\n")
        self.path.write_text(self.text())

    def text(self):
        """Return the page."""
        wanted = [row for each in self.found.values() for row in each.rows if row.target is not None]
        met = sum(not row.missed for row in wanted)
        machines = {each.machine for each in self.found.values()}
        parts = [
            "# Performance",
            f"    python -m benchmarks --page docs/{self.path.name}",
            ABOUT,
            f"Targets that are met: {met} of {len(wanted)}.",
            *([f"Measured on {next(iter(machines))}."] if len(machines) == 1 else []),
        ]
        for name in NAMES:
            if name in self.found:
                parts += self._section(name, self.found[name], several=len(machines) > 1)
        return "\n\n".join(parts) + "\n"

    def _section(self, name, found, *, several):
        module = importlib.import_module(f"benchmarks.{name}")
        title, _, about = cleandoc(module.__doc__).partition("\n\n")
        yield f"## {title.rstrip('.')}"
        yield "\n\n".join([f"`python -m benchmarks {name}`", *([about] if about else [])])
        yield markdown(found.rows)
        if found.notes:
            yield "\n".join(f"    {line}".rstrip() for line in found.notes.splitlines())
        if hasattr(module, "picture"):
            yield f"![{title.rstrip('.')}](images/{name}.svg)"
        if several:
            yield f"Measured on {found.machine}."
