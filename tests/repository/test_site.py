"""The check of the documentation finds dead links."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SITE = runpy.run_path(str(ROOT / ".ci" / "site.py"))


def test_relative_links_of_the_project_exist():
    assert SITE["dead_in_markdown"](ROOT) == []


@pytest.mark.parametrize("link", ["docs/none.rst", "none.md#place", "../outside.md"])
def test_a_dead_link_in_markdown_is_found(link, tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.rst").write_text("Page")
    good = "[a](docs/page.rst) [b](#place) [c](https://example.org/none) ![d](docs/page.rst#place)"
    (tmp_path / "README.md").write_text(f"{good} and [e]({link}).")
    assert SITE["dead_in_markdown"](tmp_path) == [f"README.md: {link}"]


@pytest.mark.parametrize(
    "link", ["none.html", "other.html#none", "#none", "../outside.html", "folder/style.css", "other.html?x=1#none"]
)
def test_a_dead_link_between_pages_is_found(link, tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    site.joinpath("other.html").write_text("<p id='place'>Place</p>")
    good = "<p id='here'><a href='other.html#place'>a</a> <a href='#here'>b</a> <a href='https://example.org/'>c</a>"
    site.joinpath("index.html").write_text(f"{good} <a href='{link}'>d</a>")
    found = SITE["dead_links"](site)
    assert len(found) == 1 and found[0].startswith(f"index.html: {link}")
