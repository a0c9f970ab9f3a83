"""Tests of every report in a real browser: drawings, layout, interaction, no failing script."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page
from support import made_reports, tiers

DRAWN = {
    "profile": (
        "#flame svg",
        "#blocking svg",
        "#timeline canvas",
        "#mutex-0 .panels .main-svg",
        "#mutexes table",
    ),
    "bare-profile": ("#flame-section .absent", "#blocking-section .absent", "#mutexes table"),
    "comparison": ("#by-threads .main-svg", "#ratios .main-svg", "#runs .main-svg", "table"),
    "study": ("#overview .plot .main-svg", "#overview .verdict", ".page .card"),
    "prediction": ("#ratios .main-svg", "#rates .main-svg", "table"),
    "what-if": ("#ratios .main-svg", "table"),
    "experiments": ("#gains .main-svg", "#accounts .main-svg", "table"),
}
"""Selectors of the elements that each report has to show."""

ANCHORS = {"study": ("", "#study/study.throughput", "#programs", "#locks", "#lock/c-bo-mcs-stp")}
"""The pages to open of a report with several pages."""

Open = Callable[..., Page]


OPENED = [(name, width) for name in made_reports.REPORTS for width in (1280, 420)]
ALIKE = ("bare-profile", "prediction", "what-if")
SHORT = [
    each for each in OPENED if each[0] == "comparison" or (each[1] == 1280 and each[0] not in ALIKE)
]


@pytest.mark.parametrize(
    ("name", "width"), tiers.short(OPENED, SHORT, "reports have the same parts")
)
def test_everything_is_drawn_within_its_container(opened: Open, name: str, width: int) -> None:
    """The light and the dark page are tested; neither is wider than the window."""
    page = opened(name, width)
    check_drawn(page, name)
    check_first_line(page)
    colour = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(colour)
    page.locator("#theme").click()
    assert page.evaluate(colour) != before
    check_drawn(page, name)


def check_first_line(page: Page) -> None:
    """After the title, and the command where the page has one, a sentence has the result."""
    lines = page.locator(".verdict").first.evaluate(
        """(verdict) => {
          const before = [];
          for (const each of document.querySelectorAll("main p, main pre, main h2, main table")) {
            if (each === verdict) return before;
            before.push(each.className);
          }
          return null;
        }"""
    )
    assert set(lines) <= {"kicker", "command"}
    assert len(page.locator(".verdict").first.inner_text().split()) >= 5


def check_drawn(page: Page, name: str) -> None:
    """Check that every element has a size and is within its container."""
    for selector in DRAWN[name]:
        box = page.locator(selector).first.bounding_box()
        assert box is not None, selector
        assert box["width"] > 40, selector
        assert box["height"] > 10, selector
    anchors = ANCHORS.get(name, ("",))
    for anchor in (*anchors, anchors[0]):
        page.evaluate("(anchor) => { location.hash = anchor; }", anchor)
        page.wait_for_timeout(20)
        assert cut_off_texts(page) == [], anchor
        width, window = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
        assert width <= window, anchor


def cut_off_texts(page: Page) -> list[str]:
    """Return the texts of plots that are partly outside of the plot."""
    texts: list[str] = page.evaluate(
        """() => [...document.querySelectorAll(".js-plotly-plot, .drawing svg")]
          .filter((plot) => plot.getBoundingClientRect().width > 0)
          .flatMap((plot) => {
            const frame = plot.getBoundingClientRect();
            return [...plot.querySelectorAll("text")].filter((text) => {
              const box = text.getBoundingClientRect();
              const visible = box.width > 0 && getComputedStyle(text).visibility !== "hidden";
              return visible && (box.left < frame.left - 2 || box.right > frame.right + 2);
            }).map((text) => text.textContent);
          })"""
    )
    return texts


@pytest.mark.parametrize("name", ["profile", "comparison"])
def test_a_click_sorts_a_table(opened: Open, name: str) -> None:
    page = opened(name)
    table = page.locator("table").first
    column = 2
    button = table.locator("th button").nth(column - 1)

    def keys() -> list[float]:
        cells = table.locator(f"tbody td:nth-child({column})")
        values = cells.evaluate_all("(cells) => cells.map((cell) => cell.dataset.key)")
        return [float(key) for key in values if key]

    button.click()
    ascending = keys()
    button.click()
    assert ascending == sorted(ascending)
    assert keys() == sorted(ascending, reverse=True)
    assert len(set(ascending)) > 1


def widths(page: Page, label: str) -> list[float]:
    """Return the widths of the flame graph's boxes with this label, from the left."""
    boxes: list[float] = page.locator("#flame g").evaluate_all(
        """(groups, label) => groups
          .filter((each) => each.getAttribute("aria-label").startsWith(label))
          .map((each) => each.getBoundingClientRect().width)""",
        label,
    )
    return boxes


def test_the_flame_graph_zooms_and_searches(opened: Open) -> None:
    page = opened("profile")
    full_width = widths(page, "all waiting")[0]
    before = widths(page, "Table::insert")[0]
    assert before < full_width / 2
    page.locator("#flame g[aria-label^='Table::insert']").click()
    assert widths(page, "Table::insert")[0] == pytest.approx(full_width, abs=2)
    assert widths(page, "Table::lookup") == []
    assert "waited" in page.locator("#flame-status").inner_text()
    # The box above zooms out, also with the keyboard.
    page.locator("#flame g[aria-label^='all waiting']").focus()
    page.keyboard.press("Enter")
    assert widths(page, "Table::insert")[0] == pytest.approx(before, abs=1)
    page.locator("#flame-search").fill("table::INSERT")
    assert page.locator("#flame g.found").count() == 1
    assert page.locator("#flame-status").inner_text().startswith("28.8 %")
    page.locator("#flame-reset").click()
    assert page.locator("#flame g.found").count() == 0


def test_a_mutex_can_be_selected_in_every_drawing(opened: Open) -> None:
    page = opened("profile")
    page.locator("select[data-choice=flame]").select_option("Queue::Queue() #0")
    assert widths(page, "Table::lookup") == []
    assert widths(page, "Queue::pop")[0] > 100
    links = page.locator("#blocking .sankey-link").count()
    page.locator("select[data-choice=blocking]").select_option("Queue::Queue() #0")
    page.wait_for_timeout(700)  # Plotly fades links out.
    assert 0 < page.locator("#blocking .sankey-link").count() < links
    before = page.locator("#timeline canvas").evaluate("(canvas) => canvas.toDataURL()")
    page.locator("select[data-choice=timeline]").select_option("Queue::Queue() #0")
    assert before != page.locator("#timeline canvas").evaluate("(canvas) => canvas.toDataURL()")
    # A folded section is drawn when it is opened.
    last = page.locator("#mutex-7")
    assert last.locator(".main-svg").count() == 0
    page.locator("a[href='#mutex-7']").click()
    last.locator(".main-svg").first.wait_for()
    box = last.locator(".js-plotly-plot").first.bounding_box()
    assert box is not None
    assert box["width"] > 200


def test_the_timeline_zooms_and_has_hints(opened: Open) -> None:
    page = opened("profile")
    canvas = page.locator("#timeline canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None

    def image() -> str:
        return str(canvas.evaluate("(canvas) => canvas.toDataURL()"))

    overview = image()
    page.mouse.move(box["x"] + 300, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 330, box["y"] + 60)
    page.mouse.up()
    assert image() != overview
    canvas.evaluate(
        """(canvas, { x, y, width }) => {
          for (let at = 100; at < width && document.querySelector(".hint").hidden; at += 2) {
            const place = { clientX: x + at, clientY: y + 50 };
            canvas.dispatchEvent(new PointerEvent("pointermove", place));
          }
        }""",
        box,
    )
    assert "worker 1" in page.locator(".hint").inner_text()
    page.locator("#timeline").focus()
    page.keyboard.press("0")
    page.mouse.move(0, 0)
    assert image() == overview
