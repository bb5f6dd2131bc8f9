"""What the check of the built documentation finds, on sites of a page or two."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "site.py"
HEAD = '<!doctype html><head><meta name="viewport" content="width=device-width"></head>'


@pytest.fixture(scope="module")
def check():
    spec = importlib.util.spec_from_file_location("check_of_site", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def written(folder, **pages):
    """Return a folder with these pages."""
    for name, body in pages.items():
        (folder / f"{name}.html").write_text(HEAD + body, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("link", "wrong"),
    [
        ("other.html", False),
        ("other.html#there", False),
        ("other.html?q=1#there", False),
        ("#here", False),
        ("https://example.org/gone", False),
        ("gone.html", True),
        ("other.html#gone", True),
        ("#gone", True),
        ("../outside.html", True),
    ],
)
def test_dead_links(check, tmp_path, link, wrong):
    site = written(tmp_path, index=f'<p id="here"><a href="{link}">x</a></p>', other='<h1 id="there">x</h1>')
    dead = check.dead_links(site)
    assert len(dead) == wrong
    assert all(link in line and line.startswith("index.html: ") for line in dead)


def test_dead_pictures(check, tmp_path):
    site = written(tmp_path, index='<img src="a%20b.png"><img src="gone.png">')
    (site / "a b.png").touch()
    assert check.dead_links(site) == ["index.html: gone.png"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "cut"),
    [
        ("<p>fits</p>", []),
        ("<p style='width: 500px'>x</p>", ["the page scrolls sideways", '<p class=""> "x"']),
        ("<p style='overflow: hidden'>" + "x" * 200 + "</p>", [f'<p class=""> "{"x" * 50}"']),
        ("<div style='overflow: auto'><p class='a' style='width: 500px'>x</p></div>", ['<p class="a"> "x"']),
        ("<pre style='overflow: auto'>" + "x" * 200 + "</pre>", []),
    ],
)
def test_what_a_phone_cuts_off(check, tmp_path, body, cut):
    browsers = pytest.importorskip("playwright.sync_api")
    chromium = check.browser()
    if chromium is None:
        pytest.skip("no Chromium is installed, and so no page is looked at")
    site = written(tmp_path, index="", page=body)
    with check.served(site) as address, browsers.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        found = check.cut_on_a_phone(browser.new_page(viewport=check.PHONE), address, ["page.html"])
        browser.close()
    assert found == [f"page.html: {what}" for what in cut]
