"""Folders that, first in a worker's import path, make its packages other than those here."""

from pathlib import Path


def stub(folder: Path, package: str) -> str:
    """Return a folder with a package of this name in it, of version 99.0.0, that has nothing else."""
    (folder / package).mkdir()
    (folder / package / "__init__.py").write_text("__version__ = '99.0.0'\n")
    return str(folder)


def hidden(folder: Path, package: str) -> str:
    """Return a folder that keeps a process which has it in its import path from finding a package."""
    (folder / "sitecustomize.py").write_text(
        "import sys\n"
        "class Hide:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.partition('.')[0] == {package!r}:\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Hide())\n"
    )
    return str(folder)


def another_version(folder: Path, package: str) -> str:
    """Return a folder that makes a package say that it is of version 99.0.0."""
    (folder / "sitecustomize.py").write_text(f"import {package}\n{package}.__version__ = '99.0.0'\n")
    return str(folder)
