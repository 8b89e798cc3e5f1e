"""The page in a real browser: Debian's chromium, driven by Playwright."""

from __future__ import annotations

import copy
import os
import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tests.cli.command import truefit
from tests.report.study_example import ATTACK, MADE, QUOTE, made_study
from tests.report.test_html import HOSTILE

from truefit import Engine, evaluate
from truefit._core.provenance import store_report
from truefit._study.page import study_report

#: axe-core, which checks a page for accessibility (npm install axe-core).
AXE = Path(os.environ.get("TRUEFIT_AXE") or Path.home() / ".cache/truefit/node_modules/axe-core/axe.min.js")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="chromium is not installed (Debian: apt-get install chromium)"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (pip install playwright)")

#: What sticks out to the right and cannot be scrolled to inside a region of its own.
STICKS_OUT = """() => [...document.body.querySelectorAll("*")].filter(element => {
  if (element.closest(".tf-scroll, .unseen, .skip, defs, clipPath")) return false;
  const box = element.getBoundingClientRect();
  return box.width > 0 && box.right > document.documentElement.clientWidth + 1;
}).map(element => `${element.tagName} ${element.className.baseVal ?? element.className}`)"""


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        # No sandbox: containers run as root, and the page is our own.
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module", params=["classification", "regression"])
def address(request, tmp_path_factory):
    place = tmp_path_factory.mktemp("page") / "report.html"
    return made_study(request.param).to_html(place).as_uri()


@pytest.fixture
def opened(browser, address):
    """Open the page with these settings; what it says on the console, asks for or pops up is an error."""
    contexts, troubles = [], []

    def open_page(**settings):
        contexts.append(browser.new_context(**({"viewport": {"width": 1200, "height": 900}} | settings)))
        page = contexts[-1].new_page()
        page.on("console", lambda message: troubles.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (troubles.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: request.url == address or troubles.append(f"request: {request.url}"))
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert troubles == []


def test_sections_and_pictures_are_there(opened):
    page = opened()
    assert page.title() == f"Study of {ATTACK}"
    assert page.locator("article.answer").count() == 4
    for name in ("which", "how-good", "fit", "more-data", "next", "info", "not-run", "made"):
        assert page.locator(f"section#{name}").is_visible(), name
    pictures = page.locator("figure svg[role=img]:visible")
    assert pictures.count() == 7
    for i in range(7):
        box = pictures.nth(i).bounding_box()
        assert box["width"] > 200
        assert box["height"] > 50
    # Parts of a section open by a click.
    part = page.locator("#predictions details").filter(has_text="Calibration").first
    assert part.locator("svg[role=img]").first.is_hidden()
    part.locator("summary").first.click()
    assert part.locator("svg[role=img]:visible").count() == 1
    # A link of a card leads to its section.
    page.locator("article.answer").nth(2).get_by_role("link").click()
    page.wait_for_url("**#fit")
    assert page.locator("#fit-title").is_visible()


def test_names_stay_text(opened):
    page = opened()
    assert page.locator("script").count() == 1
    assert page.locator("img").count() == 0
    assert page.locator("#which tbody th").first.inner_text() == ATTACK
    assert ATTACK in page.locator("#which figure svg text:visible").all_text_contents()
    assert ATTACK in page.locator("#made code").inner_text()
    assert page.locator(".finding.error").inner_text().count(ATTACK) == 2


def first_cells(page):
    return page.locator("#which .tf-table").first.locator("tbody th").all_inner_texts()


def test_tables_are_sorted_by_click_and_back(opened):
    page = opened()
    original = first_cells(page)
    header = page.locator("#which .tf-table thead th").first
    assert header.get_attribute("aria-sort") == "none"
    button = header.get_by_role("button")
    orders = []
    for state in ("ascending", "descending", "none"):
        button.click()
        assert header.get_attribute("aria-sort") == state
        orders.append(first_cells(page))
    assert orders[0] == sorted(original)
    assert orders[1] == orders[0][::-1]
    assert orders[2] == original
    error = page.locator("#which .tf-table").first.locator("thead th").nth(1)
    error.get_by_role("button").click()
    values = page.locator("#which .tf-table").first.locator("tbody tr td:nth-child(2)")
    numbers = [float(text.removesuffix("%")) for text in values.all_inner_texts()]
    assert numbers == sorted(numbers)
    assert header.get_attribute("aria-sort") == "none"


def test_everything_is_reached_with_the_keyboard(opened):
    page = opened()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    page.wait_for_url("**#main")
    original = first_cells(page)
    page.locator("#which .tf-table thead button").first.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Space")
    assert page.locator("#which thead th").first.get_attribute("aria-sort") == "descending"
    assert first_cells(page) == sorted(original, reverse=True)
    # Where a table scrolls, the arrow keys scroll it.
    assert page.locator(".tf-scroll[tabindex='0'][role=region]").count() == page.locator(".tf-scroll").count()


def test_a_screen_reader_is_told_what_is_to_be_seen(opened):
    page = opened()
    assert page.evaluate("document.documentElement.lang") == "en"
    levels = [int(tag[1]) for tag in page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map(h => h.tagName)")]
    assert levels[0] == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))
    for picture in page.locator("figure svg[role=img]").all():
        for name in picture.get_attribute("aria-labelledby").split():
            assert page.locator(f"#{name}").text_content().strip()
    assert page.locator("table:not(:has(caption))").count() == 0
    assert page.get_by_role("navigation").get_by_role("link").count() == 9


@pytest.mark.parametrize("width", [320, 375, 768, 1400])
def test_nothing_overflows(opened, width):
    page = opened(viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(STICKS_OUT) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_evaluation_has_its_verdict_and_parts_that_open(browser, tmp_path, scheme):
    random = np.random.default_rng(0)
    y = np.where(random.random(200) < 0.5, ATTACK, QUOTE)
    p = (0.3 * (y == QUOTE) + 0.7 * random.random(200)).clip(0, 1)
    result = evaluate(y, {ATTACK: p, QUOTE: random.random(200)}, pos_label=QUOTE)
    troubles = []
    context = browser.new_context(viewport={"width": 375, "height": 800}, color_scheme=scheme)
    page = context.new_page()
    page.on("console", lambda message: troubles.append(message.text))
    page.on("dialog", lambda dialog: (troubles.append(dialog.message), dialog.dismiss()))
    page.goto(result.to_html(tmp_path / "evaluation.html").as_uri())
    assert "is best" in page.locator("section.verdict").inner_text()
    parts = page.locator("#diagnostics > details")
    assert parts.count() == 5
    for i in range(parts.count()):
        parts.nth(i).locator("summary").first.click()
    assert page.locator("#diagnostics figure svg[role=img]:visible").count() == 4  # thresholds are a table
    assert page.evaluate(STICKS_OUT) == []
    assert page.evaluate("document.documentElement.scrollWidth") == 375
    assert troubles == []
    context.close()


#: Contrast of a text with what is behind it, as WCAG has it.
CONTRAST = """element => {
  const parse = text => text.match(/[\\d.]+/g).map(Number);
  const linear = v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
  const background = element => parse(getComputedStyle(element).backgroundColor);
  let behind = element;
  while (behind.parentElement && background(behind)[3] === 0) behind = behind.parentElement;
  const [a, b] = [light(parse(getComputedStyle(element).color)), light(background(behind))];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_light_and_dark(opened, scheme):
    page = opened(color_scheme=scheme)
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")
    for selector in ("h1", ".facts", ".answer h3", ".answer .headline", ".answer a", ".lead", "figcaption",
                     ".finding p", ".finding .badge", ".finding .code", ".key dd span",
                     ".tf-best td", "thead th", ".notes li", "dt", "code", "nav a"):  # fmt: skip
        assert page.locator(selector).first.evaluate(CONTRAST) >= 4.5, selector


needs_axe = pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not there (npm install axe-core; TRUEFIT_AXE)")

#: What axe-core finds, of the two worst kinds.
VIOLATIONS = """async () => (await axe.run(document)).violations
  .filter(each => ["serious", "critical"].includes(each.impact))
  .map(each => `${each.id}: ${each.help} (${each.nodes.map(node => node.target).join(", ")})`)"""


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [375, 1280])
def test_axe_finds_no_serious_violation(opened, scheme, width):
    page = opened(color_scheme=scheme, viewport={"width": width, "height": 900}, bypass_csp=True)
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    page.evaluate(AXE.read_text("utf-8"))
    assert page.evaluate(VIOLATIONS) == []


@pytest.mark.slow
@needs_axe
def test_axe_finds_no_serious_violation_in_other_results(browser, tmp_path):
    for part in made_study().parts.values():
        page = browser.new_page(bypass_csp=True)
        page.goto(part.to_html(tmp_path / "part.html").as_uri())
        page.evaluate(AXE.read_text("utf-8"))
        assert page.evaluate(VIOLATIONS) == [], part.title
        page.set_content(f"<!doctype html><html lang=en><title>t</title><main><h1>t</h1>{part._repr_html_()}</main>")
        page.evaluate(AXE.read_text("utf-8"))
        assert page.evaluate(VIOLATIONS) == [], part.title
        page.close()


def test_it_prints_on_white_with_all_pictures(opened, tmp_path):
    page = opened(color_scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("nav").is_hidden()
    # In print the parts that can be opened are open.
    assert page.locator("figure svg[role=img]:visible").count() == page.locator("figure").count() >= 8
    page.pdf(path=tmp_path / "report.pdf", format="A4")
    assert (tmp_path / "report.pdf").stat().st_size > 20_000


@pytest.mark.parametrize("java_script", [True, False])
def test_hostile_pictures_of_a_store_do_nothing(browser, tmp_path, java_script):
    """A store that somebody else wrote: nothing runs, nothing is loaded, and the page stays where it is."""
    hostile = "".join(markup for markup, _ in HOSTILE.values())
    report = copy.deepcopy(study_report(made_study()))
    for pictures in report["pictures"].values():
        for picture in pictures:
            picture[1:] = [None if svg is None else svg.replace("</svg>", f"{hostile}</svg>") for svg in picture[1:]]
    with Engine(tmp_path / "runs.db") as engine:
        store_report(engine.store, report, MADE)
    done = truefit("show", "runs.db", "--out", "report.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    address, troubles = (tmp_path / "report.html").as_uri(), []
    context = browser.new_context(java_script_enabled=java_script)
    page = context.new_page()
    page.on("dialog", lambda dialog: (troubles.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: request.url == address or troubles.append(f"request: {request.url}"))
    page.on("console", lambda message: troubles.append(f"console: {message.text}"))
    page.goto(address)
    page.wait_for_timeout(300)
    assert (page.url, troubles) == (address, [])
    assert page.locator("script").count() == 1
    assert page.locator("svg script, svg style, svg a, meta[http-equiv=refresh], iframe, foreignObject").count() == 0
    assert page.locator("#which figure svg").count() >= 2
    context.close()


def test_without_a_script_the_page_says_the_same(opened):
    page = opened(java_script_enabled=False)
    assert page.locator("article.answer").count() == 4
    assert page.get_by_role("button").count() == 0


def test_results_show_themselves_in_a_notebook(browser):
    troubles = []
    page = browser.new_page(viewport={"width": 900, "height": 800})
    page.on("dialog", lambda dialog: (troubles.append(dialog.message), dialog.dismiss()))
    page.on("console", lambda message: troubles.append(message.text))
    study = made_study()
    parts = [study, study.assessment, study.comparison, study.perturbation, study.bias_variance, study.curves]
    page.set_content("<body>" + "".join(part._repr_html_() for part in parts))
    assert page.locator(".tf-result").count() == len(parts)
    assert page.locator(".tf-result svg[role=img]").count() == len(parts)
    assert page.locator(".tf-result table").count() == len(parts)
    assert page.locator("script, img").count() == 0
    assert ATTACK in page.locator(".tf-result").first.inner_text()
    assert troubles == []
    page.close()
