"""The page in a browser: what a reader with a mouse, a keyboard, a telephone, a printer or no script gets."""

import json
import re
from dataclasses import replace

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser import chromium, needs_chromium, visit
from made_up import history, repeated, results
from pages import write_report
from playwright.sync_api import expect
from runs import STORED, WHOLE_SUITE

from accelbench.core import annotate, load_builtins
from accelbench.report.certificate import render_certificate
from accelbench.results import effects, find_results, tabulate_arms
from certificates import whole

pytestmark = [needs_chromium, pytest.mark.slow]
RESULT = find_results(WHOLE_SUITE).results[0]
EFFECTS = effects(tabulate_arms([RESULT]))
OPENED = "document.querySelectorAll('details').forEach(details => { details.open = true })"
MARKUP = """<img src=x onerror=alert(1)>"'</script><script>alert(1)</script>javascript:alert(1) """
OPEN = {
    "levels", "against", "problem", "fixed", "observed", "disturbance", "spent_s", "settings", "configuration",
    "readings",
}  # fmt: skip
KEPT = re.compile(r"[\d.]+|batch_size|workers")  # levels and techniques of which figures are drawn


@pytest.fixture(scope="module")
def browser():
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """The page of a real run of the whole suite, with as long a history as is drawn."""
    return write_report(RESULT, tmp_path_factory.mktemp("real"), history=repeated(RESULT, 40))


def shown(page, table):
    """Return the rows of a table that are seen, each as the texts of its cells."""
    rows = f"[...document.querySelectorAll('#{table} tbody tr')].filter(row => !row.hidden)"
    return page.evaluate(f"{rows}.map(row => [...row.cells].map(cell => cell.innerText))")


def test_a_real_run_opens_without_error_or_request(browser, real):
    with visit(browser, real) as it:
        it.page.wait_for_load_state("networkidle")
        assert it.page.locator("h1").inner_text() == "Which acceleration techniques pay here?"
        assert (it.requests, it.complaints) == ([], [])


def test_the_page_takes_less_than_8500_bytes_an_arm(real):
    trials = json.loads(WHOLE_SUITE.read_text())["accelbench"]["trials"]
    assert real.stat().st_size < 8500 * sum(len(trial["arms"]) for trial in trials)


def test_the_keyboard_sorts_a_table_by_value(browser, real):
    with visit(browser, real) as it:
        headings = it.page.locator("#arms th")
        place = [text.split()[0] for text in headings.all_inner_texts()].index("throughput")
        headings.locator("button").first.focus()
        for _ in range(place):
            it.page.keyboard.press("Tab")
        it.page.keyboard.press("Enter")
        expect(headings.nth(place)).to_have_attribute("aria-sort", "descending")
        fastest = f"{tabulate_arms([RESULT])['items_per_s'].max():.9g}"
        expect(it.page.locator("#arms tbody tr").first.locator("td").nth(place)).to_have_attribute("data-sort", fastest)
        it.page.keyboard.press("Space")
        expect(headings.nth(place)).to_have_attribute("aria-sort", "ascending")
        expect(it.page.locator("#arms tbody tr").last.locator("td").nth(place)).to_have_text("")


def test_a_table_filters_and_its_address_keeps_the_filter(browser, real):
    chosen = EFFECTS[(EFFECTS["verdict"] == "faster") & (EFFECTS["framework"] == "torch")]
    with visit(browser, real) as it:
        bar = it.page.get_by_role("group", name="Filter of Every effect")
        bar.get_by_label("verdict").select_option("faster")
        bar.get_by_label("framework").select_option("torch")
        said = f"{len(chosen)} of {len(EFFECTS)} rows"
        assert bar.get_by_role("status").inner_text() == said
        assert len(shown(it.page, "effects")) == len(chosen)
        address = it.page.url
        assert address.endswith("#effects?verdict=faster&framework=torch")
    with visit(browser, real, "#" + address.partition("#")[2]) as it:
        assert len(shown(it.page, "effects")) == len(chosen)
        it.page.get_by_role("group", name="Filter of Every effect").get_by_label("Filter").fill("no such row")
        expect(it.page.get_by_text(f"0 of {len(EFFECTS)} rows")).to_be_visible()


def test_a_filtered_table_is_saved_as_csv(browser, real):
    with visit(browser, real, "#effects?verdict=slower") as it:
        with it.page.expect_download() as saved:
            it.page.get_by_role("button", name="CSV of these rows").first.click()
        lines = saved.value.path().read_text().splitlines()
        assert len(lines) == 1 + (EFFECTS["verdict"] == "slower").sum()
        assert lines[0].startswith("verdict,")
        assert it.complaints == []


def test_a_link_to_a_trial_opens_it(browser, real):
    with visit(browser, real) as it:
        it.page.locator("#arms tbody a").last.click()
        place = it.page.url.partition("#")[2]
        target = it.page.locator(f"[id='{place}']")
        expect(target.locator("table").first).to_be_visible()
        target.get_by_role("button", name="Copy").click()
        expect(target.get_by_role("button", name="Copied")).to_be_visible()
    with visit(browser, real, f"#{place}") as it:
        expect(it.page.locator(f"[id='{place}'] table").first).to_be_visible()


def test_no_width_makes_the_page_scroll_sideways(browser, real):
    with visit(browser, real) as it:
        for width in (360, 1280, 3840):
            it.page.set_viewport_size({"width": width, "height": 900})
            content, window = it.width()
            assert content <= window == width
            reach = it.page.evaluate("Math.max(...[...document.querySelectorAll('main *')]"
                                     ".map(each => each.getBoundingClientRect().right))")  # fmt: skip
            assert reach > 0.9 * width


def test_dark_is_dark_and_paper_is_white(browser, real):
    ground = "getComputedStyle(document.body).backgroundColor"
    with visit(browser, real, color_scheme="dark") as it:
        dark = it.page.evaluate(ground)
        it.page.emulate_media(media="print", color_scheme="dark")
        assert it.page.evaluate(ground) == "rgb(255, 255, 255)" != dark
        assert not it.page.locator("nav").is_visible()
        assert not it.page.locator(".filters").first.is_visible()
        cut = "[...document.querySelectorAll('.scroll')].filter(box => box.scrollHeight > box.clientHeight + 1).length"
        assert it.page.evaluate(cut) == 0


def test_paper_holds_the_picture_and_the_answer_on_two_pages(browser, real, tmp_path):
    with visit(browser, real) as it:
        it.page.emulate_media(media="print")
        assert it.page.locator("section.first").is_visible()
        assert not it.page.locator("#effects").is_visible()
        paper = it.page.pdf(path=tmp_path / "page.pdf", prefer_css_page_size=True)
        assert len(re.findall(rb"/Type\s*/Page\b", paper)) <= 2


def test_without_a_script_everything_is_there(browser, real):
    with visit(browser, real, java_script_enabled=False) as it:
        assert it.page.locator("#effects tbody tr").count() == len(EFFECTS)
        assert it.page.locator("#effects tbody tr").last.is_visible()
        assert it.page.locator("button").count() == 0


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The page of a small run with warm-ups, ratios in order and recipes, and that of a certificate."""
    folder = tmp_path_factory.mktemp("small")
    stored = find_results(STORED.with_name("run_every_field.json")).results[0]
    load_builtins()
    told = replace(stored, run=replace(stored.run, trials=list(map(annotate, stored.run.trials))))
    page = write_report(told, folder, history=history(results(12)))
    certificate = folder / "certificate.html"
    certificate.write_text(render_certificate(whole()))
    return page, certificate


@pytest.mark.parametrize("clipboard", [True, False], ids=["clipboard", "selection"])
def test_the_keyboard_copies_what_to_write_and_the_page_says_so(browser, small, clipboard):
    with visit(browser, small[0]) as it:
        if not clipboard:  # as on a page that was not opened over a secure connection
            it.page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
        code = it.page.locator(".recipe code").first
        button = it.page.locator(".recipe").first.get_by_role("button")
        expect(button).to_have_accessible_name(re.compile("^Copy what to write for [a-z]"))
        button.focus()
        it.page.keyboard.press("Enter")
        expect(button).to_have_text("Copied")
        expect(it.page.get_by_role("status").filter(has_text="Copied what to write for")).to_have_count(1)
        it.page.evaluate("document.getElementById('main').prepend(document.createElement('textarea'))")
        it.page.locator("textarea").focus()
        it.page.keyboard.press("Control+V")
        assert it.page.locator("textarea").input_value() == code.inner_text()
        it.page.emulate_media(media="print")
        assert not button.is_visible()


def test_the_keyboard_finds_a_technique_by_what_people_call_it(browser, small):
    with visit(browser, small[0]) as it:
        field = it.page.get_by_role("searchbox", name="Find a technique or a workload")
        field.fill("set_num_threads")
        expect(it.page.get_by_role("search").get_by_role("link")).to_have_text(["threads (torch)", "threads (numpy)"])
        field.press("Enter")
        expect(it.page.locator("#technique-torch-threads")).to_be_in_viewport()
        assert it.page.url.endswith("#technique-torch-threads")
        field.fill("no such thing")
        expect(it.page.get_by_text("nothing found")).to_be_visible()
        assert it.complaints == []


@pytest.mark.parametrize(("scheme", "width"), [("light", 1600), ("dark", 360)])
def test_axe_finds_nothing_with_everything_opened(browser, small, scheme, width):
    for path in small:
        with visit(browser, path, width=width, color_scheme=scheme) as it:
            it.page.evaluate(OPENED)
            found = Axe().run(it.page)
            assert found.violations_count == 0, found.generate_report()


def test_markup_in_every_string_of_a_run_is_inert(browser, tmp_path):
    document = json.loads(STORED.with_name("run_every_field.json").read_text())
    document["accelbench"]["trials"] = document["accelbench"]["trials"][:5]  # each figure takes its time
    (tmp_path / "0001_a.json").write_text(json.dumps(document | {"accelbench": spoiled(document["accelbench"])}))
    page = write_report(find_results(tmp_path / "0001_a.json").results[0], tmp_path)
    with visit(browser, page) as it:
        it.page.evaluate(OPENED)
        assert (it.requests, it.complaints) == ([], [])
        assert it.page.locator("img, iframe, object, [onerror], a[href^='javascript']").count() == 0
        assert it.page.locator("script").count() == 1
        it.page.locator("#effects th button").first.click()
        it.page.get_by_role("searchbox").nth(1).fill("onerror=alert(1)")
        assert len(shown(it.page, "effects")) == it.page.locator("#effects tbody tr").count() > 0


def test_a_script_that_came_into_the_page_would_not_run(browser, small):
    put = "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.ran = true'}))"
    for path in small:
        with visit(browser, path) as it:
            it.page.evaluate(put)
            assert it.page.evaluate("window.ran") is None
            assert "Content Security Policy" in it.complaints[0]


def spoiled(value, name=""):
    """Return a run in which markup stands before every text and every name that its schema leaves open."""
    if isinstance(value, dict):
        return {spoiled(key) if name in OPEN else key: spoiled(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [spoiled(item) for item in value]
    fixed = not isinstance(value, str) or name in {"outcome", "verdict"} or KEPT.fullmatch(value)
    return value if fixed else MARKUP + value
