"""The page on the architecture names what is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "truefit"
PAGE = (ROOT / "docs" / "architecture.md").read_text()


def named_files():
    for name in re.findall(r"[\w/]+\.py\b", PAGE):
        yield name.removeprefix("src/truefit/")


def test_every_file_that_is_named_exists():
    missing = [
        name for name in named_files() if not (PACKAGE / name).exists() and not (PACKAGE / "_executors" / name).exists()
    ]
    assert not missing


def test_every_folder_that_is_named_exists():
    folders = re.findall(r"(?<![\w/])(\w+(?:/\w+)*)/(?![\w*])", PAGE)
    homes = (PACKAGE, ROOT, PACKAGE / "_solvers")
    missing = [name for name in folders if not any((home / name).is_dir() for home in homes)]
    assert folders
    assert not missing


def test_every_package_is_described():
    table = re.findall(r"^\| `(\w+)` \|", PAGE, flags=re.M)
    packages = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    modules = {path.stem for path in PACKAGE.glob("*.py") if path.stem not in ("__init__", "__main__")}
    assert sorted(table) == sorted(packages | modules)


def test_the_layers_are_those_that_are_checked():
    config = (ROOT / "pyproject.toml").read_text()
    layers = re.findall(
        r'^  "([\w |]+)",$', re.search(r"layers = \[\n(.*?)\]", config, flags=re.S).group(1), flags=re.M
    )
    assert layers
    assert "\n".join(f"    {layer}" for layer in layers) in PAGE
