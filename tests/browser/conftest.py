"""Fixtures: a headless browser, and every kind of report."""

import os
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright
from support import made_reports

NAMES = ("chromium", "chromium-headless-shell", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start the distribution's Chromium."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip(f"none of {', '.join(NAMES)} is installed")
    # Root cannot use Chromium's sandbox.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    # /dev/shm may be small or full.
    arguments.append("--disable-dev-shm-usage")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=arguments)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that returns the file of a report, made at the first call."""

    @cache
    def made(name: str) -> Path:
        return made_reports.REPORTS[name](tmp_path_factory.mktemp(name))

    return made


@pytest.fixture
def opened(browser: Browser, report: Callable[[str], Path]) -> Iterator[Callable[..., Page]]:
    """Return a function that opens a report at a width. Errors in the page fail the test."""
    errors: list[str] = []
    contexts = []

    def open_report(name: str, width: int = 1280, anchor: str = "") -> Page:
        context = browser.new_context(viewport={"width": width, "height": 900}, offline=True)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(240_000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on(
            "console",
            lambda message: (
                errors.append(message.text) if message.type in ("error", "warning") else None
            ),
        )
        page.goto(report(name).as_uri() + anchor)
        return page

    yield open_report
    for context in contexts:
        context.close()
    assert errors == []
