"""Sphinx extension: the API reference, one page for each public name, written from the package itself.

Nothing is listed by hand: a name in ``__all__`` of truefit or of one of its public modules, a result class and an error
have a page because they exist. The pages are written to ``docs/api`` before each build.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import truefit
from truefit._core import errors
from truefit._methods.result import EstimatorResult, Result

#: Classes of values that results hold.
PARTS_OF_RESULTS = (
    "truefit._core.finding.Finding",
    "truefit._study.answers.Answer",
    "truefit._study.external_test.ExternalTest",
)
#: Methods that scikit-learn adds to every estimator.
OF_SCIKIT_LEARN = re.compile(r"set_\w+_request|get_metadata_routing|get_params|set_params")
#: A page named in a docstring, which becomes a link.
PAGE = re.compile(r"`{0,2}docs/([\w/.-]+?)\.md`{0,2}")
#: An attribute that numpydoc links by its bare name, which may lead to another class.
ATTRIBUTE = re.compile(r"^(\s*):obj:`(\w+) <\.\2>`")


@dataclass
class Section:
    """A heading of the reference, and the objects below it by the name under which they are imported."""

    title: str
    text: str
    objects: dict[str, Any] = field(default_factory=dict)


def public_modules() -> list[str]:
    """Return the names of the modules that users import: those without an underscore."""
    return [each.name for each in pkgutil.iter_modules(truefit.__path__) if not each.name.startswith("_")]


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"truefit.{name}")


def result_classes() -> dict[str, type[Result]]:
    """Return the classes of results by their full names."""
    for package in ("_api", "_methods", "_study"):
        home = _module(package)
        for each in pkgutil.walk_packages(home.__path__, f"{home.__name__}."):
            importlib.import_module(each.name)

    def below(parent: type[Result]) -> Iterator[type[Result]]:
        for each in parent.__subclasses__():
            yield each
            yield from below(each)

    found = {each for each in below(Result) if each.__module__.startswith("truefit.")} - {EstimatorResult}
    public = [each for each in found if not each.__name__.startswith("_")]
    return {f"{each.__module__}.{each.__qualname__}": each for each in sorted(public, key=lambda each: each.__name__)}


def sections() -> list[Section]:
    """Return everything that is public, as the sections of the reference."""
    exported = {name: getattr(truefit, name) for name in truefit.__all__ if not name.startswith("__")}
    functions = Section("Functions", "Each takes estimators and a table, and returns a result.")
    estimators = Section("Estimators", "Estimators of scikit-learn's kind, for pipelines and searches.")
    options = Section("Engine and options", "How fits are run, shared and stored.")
    for name, each in exported.items():
        if inspect.isroutine(each):
            functions.objects[f"truefit.{name}"] = each
        elif inspect.isclass(each):
            home = estimators if hasattr(each, "get_params") else options
            home.objects[f"truefit.{name}"] = each
    results = Section("Results", "What the functions return. Every result has the methods of ``Result``.")
    results.objects = {"truefit._methods.result.Result": Result, **result_classes()}
    for path in PARTS_OF_RESULTS:
        module, _, name = path.rpartition(".")
        results.objects[path] = getattr(importlib.import_module(module), name)
    modules = [
        Section(
            f"truefit.{name}",
            _first_paragraph(_module(name)),
            {f"truefit.{name}.{each}": getattr(_module(name), each) for each in _module(name).__all__},
        )
        for name in public_modules()
        if hasattr(_module(name), "__all__")
    ]
    raised = Section("Errors", "All but ``Interrupted`` are a ``TruefitError``.")
    for name, each in vars(errors).items():
        if inspect.isclass(each) and issubclass(each, BaseException) and each.__module__ == errors.__name__:
            raised.objects[f"{errors.__name__}.{name}"] = each
    return [functions, estimators, options, results, *modules, raised]


def _first_paragraph(thing: Any) -> str:
    return " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())


def page_name(path: str) -> str:
    """Return the file name of an object's page: without the private modules that hold results and errors."""
    return path if "._" not in path else path.rpartition(".")[2]


def members(thing: type[Any]) -> list[str]:
    """Return the documented methods and properties of a class that its table of attributes does not have."""
    attributes = _attributes(inspect.getdoc(thing) or "")
    found: dict[str, Any] = {}
    for parent in reversed([each for each in thing.__mro__ if each.__module__.startswith("truefit.")]):
        found |= {name: each for name, each in vars(parent).items() if not name.startswith("_")}
    return [
        name
        for name, each in found.items()
        if name not in attributes
        and not OF_SCIKIT_LEARN.fullmatch(name)
        and (inspect.isroutine(each) or isinstance(each, property) or hasattr(each, "attrname"))
    ]


def _attributes(text: str) -> set[str]:
    """Return the names in the section on attributes of a numpydoc docstring."""
    _, _, after = text.partition("Attributes\n----------\n")
    names = set()
    for line, following in zip(after.splitlines(), [*after.splitlines()[1:], ""], strict=False):
        if set(following) == {"-"}:  # the title of the next section
            break
        if line and not line.startswith(" "):
            names |= {each.strip() for each in line.partition(":")[0].split(",")}
    return names


def _heading(text: str, rule: str) -> list[str]:
    return [text, rule * len(text), ""]


def page(path: str, thing: Any) -> str:
    """Return the source of an object's page."""
    lines = [*_heading(page_name(path), "="), ".. currentmodule:: truefit", ""]
    if inspect.isclass(thing):
        lines += [f".. auto{'exception' if issubclass(thing, BaseException) else 'class'}:: {path}"]
        listed = members(thing)
        if listed and not issubclass(thing, BaseException):
            lines += [f"   :members: {', '.join(listed)}"]
    else:
        lines += [f".. autofunction:: {path}"]
    return "\n".join([*lines, ""])


def index(parts: list[Section]) -> str:
    """Return the source of the first page of the reference."""
    lines = _heading("API reference", "=")
    lines += ["Every public name of truefit, from its docstring. All examples in it are run by the tests.", ""]
    for part in parts:
        lines += [*_heading(part.title, "-"), part.text, "", ".. autosummary::", "   :nosignatures:", ""]
        lines += [f"   ~{path}" if "._" in path else f"   {path}" for path in part.objects]
        lines += ["", ".. toctree::", "   :hidden:", f"   :caption: {part.title}", ""]
        # One toctree for each section keeps the sidebar in their order.
        lines += [*(f"   {page_name(path)}" for path in part.objects), ""]
    return "\n".join(lines)


def pages() -> dict[str, str]:
    """Return the sources of all pages of the reference by file name."""
    parts = sections()
    found = {"index.rst": index(parts)}
    for part in parts:
        found |= {f"{page_name(path)}.rst": page(path, thing) for path, thing in part.objects.items()}
    return found


def write_pages(folder: Path) -> None:
    """Write the pages that have changed, and remove those whose names are gone."""
    folder.mkdir(exist_ok=True)
    wanted = pages()
    for old in folder.glob("*.rst"):
        if old.name not in wanted:
            old.unlink()
    for name, source in wanted.items():
        place = folder / name
        if not place.exists() or place.read_text("utf-8") != source:
            place.write_text(source, "utf-8")


def _before_build(app: Any) -> None:
    write_pages(Path(app.srcdir) / "api")


def _correct_links(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Turn the pages that a docstring names into links, and links of attributes into names."""
    lines[:] = [ATTRIBUTE.sub(r"\1**\2**", PAGE.sub(r":doc:`/\1`", line)) for line in lines]


def _without_constructor(
    app: Any, what: str, name: str, thing: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str, None] | None:
    """Hide how results and errors are made: users receive them."""
    if signature and what in ("class", "exception") and "._" in name:
        return "", None
    return None


def setup(app: Any) -> dict[str, Any]:
    """Connect the extension to Sphinx."""
    app.connect("builder-inited", _before_build)
    app.connect("autodoc-process-docstring", _correct_links)
    app.connect("autodoc-process-signature", _without_constructor)
    return {"parallel_read_safe": True}
