"""The pages in docs/: links, lengths, and what each result states."""

import re
from pathlib import Path

import pytest
from support import locate

DOCS = locate.ROOT / "docs"
PAGES = [*sorted(locate.ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
RESULTS = sorted((DOCS / "lab/results").glob("*.md"))
MOST_LINES = 120


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_links_lead_to_files_and_headings() -> None:
    for page in PAGES:
        for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", page.read_text()):
            if "://" in target:
                continue
            file = page.parent / target if target else page
            assert file.exists(), f"{page}: {target}"
            if anchor and file.suffix == ".md":
                assert anchor in anchors(file), f"{page}: {target}#{anchor}"


def test_a_page_of_the_product_is_short() -> None:
    """Measurements and notebooks belong to docs/lab."""
    for page in [locate.ROOT / "README.md", *DOCS.glob("*.md")]:
        assert len(page.read_text().splitlines()) <= MOST_LINES, page


@pytest.mark.parametrize("page", RESULTS, ids=lambda page: page.stem)
def test_a_result_states_its_conditions(page: Path) -> None:
    """Its date is that of its name."""
    rows = dict(re.findall(r"^\| (\w+) \| (.+) \|$", page.read_text(), re.MULTILINE)[:4])
    assert rows.keys() == {"date", "machine", "commit", "command"}
    assert page.name.startswith(rows["date"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", rows["date"])
    assert re.search(r"`[0-9a-f]{8}`", rows["commit"])


def test_every_page_can_be_reached() -> None:
    """Each one has a link from another page."""
    linked = set()
    for page in PAGES:
        targets = re.findall(r"\]\(([^)#\s]+)", page.read_text())
        linked |= {(page.parent / target).resolve() for target in targets}
    assert {page.resolve() for page in DOCS.rglob("*.md")} <= linked
