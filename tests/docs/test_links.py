"""Pages lead where they say."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_links_to_is_there(page):
    links = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text())
    missing = [link for link in links if not (page.parent / link).exists()]
    assert not [link for link in missing if not is_generated((page.parent / link).resolve())]


def is_generated(path):
    """Whether ``make docs`` makes a page: of the reference, or of an example that is there."""
    if path.parent == ROOT / "docs" / "gallery":
        return (ROOT / "examples" / f"{path.stem}.py").exists()
    return path == ROOT / "docs" / "api" / "index.rst"
