"""The documentation site: every public name and every page is in it. ``make docs`` builds it."""

from __future__ import annotations

import ast
import functools
import re
import sys
import zlib
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

import pytest
from tests.report.test_in_browser import AXE, BROWSER, VIOLATIONS, needs_axe

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PACKAGE = ROOT / "src" / "truefit"
BUILT = ROOT / "build" / "docs" / "html"
needs_site = pytest.mark.skipif(not (BUILT / "index.html").exists(), reason="the site is not built (make docs)")


def declared(module):
    """Return ``__all__`` of a module from its source, without importing it."""
    for node in ast.parse(module.read_text("utf-8")).body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if getattr(target, "id", None) == "__all__":
                return ast.literal_eval(node.value)
    return []


def public_names():
    """Return every public name as it is imported: of truefit, and of its modules without an underscore."""
    names = {f"truefit.{name}" for name in declared(PACKAGE / "__init__.py") if not name.startswith("__")}
    modules = {path.stem: path for path in PACKAGE.glob("*.py")}
    modules |= {path.parent.name: path for path in PACKAGE.glob("*/__init__.py")}
    public = {name: path for name, path in modules.items() if not name.startswith("_")}
    names |= {f"truefit.{name}.{each}" for name, path in public.items() for each in declared(path)}
    return names - {f"truefit.{name}" for name in public}  # a module is a section, not a page


@pytest.fixture(scope="module")
def public_api():
    spec = spec_from_file_location("public_api", DOCS / "_extensions" / "public_api.py")
    module = module_from_spec(spec)
    sys.modules["public_api"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["public_api"]


@pytest.fixture(scope="module")
def reference(public_api):
    """The pages of the reference; those of networks only where torch is installed."""
    if not find_spec("torch"):
        modules = [name for name in public_api.public_modules() if name != "torch"]
        public_api.public_modules = lambda: modules
    return public_api.pages()


def test_every_public_name_has_a_page(public_api, reference):
    missing = {name for name in public_names() if f"{name}.rst" not in reference}
    assert len(public_names()) > 30
    assert {name for name in missing if find_spec("torch") or not name.startswith("truefit.torch")} == set()
    assert {"Study.rst", "Assessment.rst", "InvalidInput.rst"} <= reference.keys()


def test_a_page_documents_the_methods_of_a_class(public_api, reference):
    assert ".. autofunction:: truefit.assess" in reference["truefit.assess.rst"]
    assert ":members: fit" in reference["truefit.HonestSearchCV.rst"]
    study = reference["Study.rst"]
    assert "to_html" in study
    assert "get_params" not in "".join(reference.values())
    assert " interval," not in study, "what the table of attributes has is not repeated"
    linked = public_api.PAGE.sub(r":doc:`/\1`", "(docs/guide/time.md) and ``docs/agghoo.md``")
    assert linked == "(:doc:`/guide/time`) and :doc:`/agghoo`"
    assert public_api.ATTRIBUTE.sub(r"\1**\2**", "  :obj:`groups <.groups>` : array") == "  **groups** : array"


def listed(page, text):
    """Return the pages that the toctrees of a page list."""
    for block in re.findall(r"^```\{toctree\}\n(.*?)^```$", text, flags=re.M | re.S):
        for entry in block.split("\n"):
            if entry and not entry.startswith(":"):
                found = page.parent.glob(f"{entry}.md") if "*" in entry else [page.parent / f"{entry}.md"]
                yield from (each.resolve() for each in found)


def test_every_page_is_in_the_navigation():
    pages = sorted(DOCS.rglob("*.md"))
    reached = {each for page in pages for each in listed(page, page.read_text("utf-8"))}
    generated = {DOCS / "api" / "index.md", DOCS / "gallery" / "index.md"}
    assert {str(page) for page in pages if page not in reached} == {str(DOCS / "index.md")}
    assert {str(page) for page in reached - generated if not page.exists()} == set()


def test_examples_are_named_by_their_order():
    names = [path.name for path in sorted((ROOT / "examples").glob("*.py"))]
    assert len(names) >= 8
    assert all(re.fullmatch(r"\d\d_[a-z_]+\.py", name) for name in names), "conf.py selects them by this pattern"


# What follows looks at the site itself, where it has been built.


class Links(HTMLParser):
    """Collects what a page links to and what it loads."""

    def __init__(self):
        super().__init__()
        self.links, self.loaded, self.ids = [], [], set()

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.ids |= {found[key] for key in ("id", "name") if found.get(key)}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in ("script", "img", "iframe", "source") and found.get("src"):
            self.loaded.append(found["src"])
        if tag == "link" and found.get("rel") in ("stylesheet", "preload", "icon", "modulepreload"):
            self.loaded.append(found["href"])


@functools.cache
def read_page(path):
    parser = Links()
    parser.feed(path.read_text("utf-8"))
    return parser


@needs_site
@pytest.mark.slow
def test_links_of_the_built_site_lead_somewhere_and_nothing_is_loaded_from_the_network():
    dead, remote = [], []
    pages = [each for each in sorted(BUILT.rglob("*.html")) if "_static" not in each.parts]
    for page in pages:
        found = read_page(page)
        remote += [(page.name, each) for each in found.loaded if urlsplit(each).netloc]
        for link in found.links + found.loaded:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or not (parts.path or parts.fragment):
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            target = target / "index.html" if target.is_dir() else target
            missing = parts.fragment and target.suffix == ".html" and target.exists()
            if not target.exists() or (missing and unquote(parts.fragment) not in read_page(target).ids):
                dead.append(f"{page.relative_to(BUILT)}: {link}")
    assert len(pages) > 100
    assert dead == []
    assert remote == []


@needs_site
@pytest.mark.slow
def test_every_public_name_is_in_the_inventory_of_the_built_site():
    content = (BUILT / "objects.inv").read_bytes()
    text = zlib.decompress(content.split(b"zlib.\n", 1)[1]).decode("utf-8")
    documented = {line.split(" py:")[0] for line in text.splitlines() if " py:" in line}
    assert {name for name in public_names() if name not in documented} == set()


@pytest.fixture(scope="module", params=["files", "server"])
def site(request):
    """Return the address of the built site, on the file system and on a local server."""
    if request.param == "files":
        yield BUILT.as_uri()
        return

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=BUILT))
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if BROWSER is None:
        pytest.skip("chromium is not installed (Debian: apt-get install chromium)")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


@needs_site
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("learning_curve", "api/truefit.learning_curve.html"),
        ("leakage", "glossary.html"),
        ("nested cross-validation", "methods/selection.html"),
        ("forward-chaining", "guide/time.html"),
        ("dask", "guide/clusters.html"),
    ],
)
def test_search_finds_pages(browser, site, words, page):
    opened = browser.new_page()
    asked = []
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(f"{site}/index.html")
    opened.keyboard.press("Control+k")
    opened.keyboard.type(words)
    opened.keyboard.press("Enter")
    opened.wait_for_selector("#search-results ul.search li a")
    opened.wait_for_function("document.querySelector('#search-results p.search-summary')")
    found = opened.eval_on_selector_all("#search-results ul.search li a", "all => all.map(each => each.href)")
    assert any(each.split("#")[0].split("?")[0] == f"{site}/{page}" for each in found), found
    assert [each for each in asked if not each.startswith((site, "data:"))] == []
    opened.close()


@needs_site
@needs_axe
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 375)])
@pytest.mark.parametrize(
    "page", ["index.html", "guide/how_good.html", "api/Study.html", "gallery/index.html", "evidence.html"]
)
def test_axe_finds_no_serious_violation(browser, page, scheme, width):
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900}, bypass_csp=True)
    opened = context.new_page()
    opened.goto(f"{BUILT.as_uri()}/{page}")
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    opened.evaluate(AXE.read_text("utf-8"))
    assert opened.evaluate(VIOLATIONS) == []
    context.close()


def test_the_extra_installs_what_the_configuration_uses():
    extra = re.search(r"^docs = \[\n(.*?)^\]", (ROOT / "pyproject.toml").read_text(), flags=re.M | re.S).group(1)
    packages = {each.replace("-", "_") for each in re.findall(r'"([\w-]+)"', extra)}
    config = (DOCS / "conf.py").read_text()
    extensions = re.search(r"^extensions = \[\n(.*?)^\]", config, flags=re.M | re.S).group(1)
    used = set(re.findall(r'"(\w+)', extensions)) - {path.stem for path in (DOCS / "_extensions").glob("*.py")}
    used |= {re.search(r'^html_theme = "(\w+)"', config, flags=re.M).group(1), "pytest"}  # truefit.testing imports it
    assert used == packages
    pinned = {
        line.split("==")[0].lower().replace("-", "_") for line in (ROOT / "constraints.txt").read_text().splitlines()
    }
    assert packages <= pinned
