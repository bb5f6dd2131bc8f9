"""Check a built site: its own links, its thumbnails, that nothing is cut on a phone, what its search finds first.

python .ci/site.py FOLDER

Relative links of the Markdown files are checked, too. Links to other sites need a network: see CONTRIBUTING.md.
Links and thumbnails need the standard library alone. The rest needs playwright and Chromium, and is skipped, with
a line that says so, where one is missing.
"""

import contextlib
import functools
import http.server
import re
import shutil
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

PHONE = {"width": 390, "height": 844}
SEARCHES = {  # the page that a search for a word has to list, and among how many first
    "epsilon": ("user_guide/privacy.html", 1),
    "ballots": ("user_guide/ballots.html", 3),
    "budget": ("user_guide/budgets.html", 3),
    "csv": ("user_guide/ballots.html", 3),
    "delta": ("user_guide/privacy.html", 3),
    "javascript": ("user_guide/javascript.html", 1),
    "kemeny": ("api/generated/sklearn_dprank.Kemeny.html", 3),
    "local": ("user_guide/trust.html", 3),
    "mobile": ("user_guide/javascript.html", 1),
    "browser": ("user_guide/javascript.html", 3),
    "node": ("user_guide/javascript.html", 3),
}


class Page(HTMLParser):
    """What a page points at and what in it can be pointed at."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.links += [found[name] for name in ("href", "src") if found.get(name)]
        self.anchors |= {found[name] for name in ("id", "name") if found.get(name)}


def html(folder):
    """Return the pages of a site, in order, without what the theme keeps for itself."""
    return [path for path in sorted(folder.rglob("*.html")) if "_static" not in path.relative_to(folder).parts]


def dead_links(folder):
    """Return a line for every link within the site whose file, or place in it, does not exist."""
    root = folder.as_uri() + "/"
    pages = {path.as_uri(): Page(path.read_text(encoding="utf-8")) for path in html(folder)}
    dead = []
    for address, page in pages.items():
        for link in page.links:
            target, _, place = urljoin(address, link).partition("#")
            target = target.partition("?")[0]
            if not target.startswith(root):
                if not urlsplit(target).scheme.startswith(("http", "mailto", "data", "javascript")):
                    dead.append(f"{address.removeprefix(root)}: {link} leaves the site")
                continue
            known = pages.get(target)
            exists = known or Path(unquote(urlsplit(target).path)).is_file()
            if not exists or (place and known and unquote(place) not in known.anchors):
                dead.append(f"{address.removeprefix(root)}: {link}")
    return dead


def dead_in_markdown(root):
    """Return a line for every relative link in the Markdown files of a project whose file does not exist."""
    files = [*root.glob("*.md"), *root.glob(".github/*.md"), *root.glob("examples/*/*.md")]
    links = (
        (path, link) for path in files for link in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8"))
    )
    relative = ((path, link) for path, link in links if not urlsplit(link).scheme)
    return [
        f"{path.relative_to(root)}: {link}"
        for path, link in relative
        if not (path.parent / unquote(link.partition("#")[0])).exists()
    ]


def without_thumbnail(folder):
    """Return a line for every example that has the gallery's default, a grey SVG, where others have a PNG."""
    found = sorted(folder.glob("_images/sphx_glr_*_thumb.svg"))
    return [f"{path.stem}: an example draws a picture or names one, sphinx_gallery_thumbnail_path" for path in found]


# What a phone cuts off: elements that reach beyond the window, or whose content is hidden beyond their own edge. Code,
# tables and formulas may be wider than the window, in a box that scrolls.
CUT = """() => {
  const width = document.documentElement.clientWidth;
  const may = "pre, .highlight, .pst-scrollable-table-container, .output_html, div.math, math";
  const cut = node => {
    const style = getComputedStyle(node), box = node.getBoundingClientRect();
    if (box.width < 2 || box.height < 2 || node.parentElement.closest(may)) return false;
    if (!node.checkVisibility({visibilityProperty: true, opacityProperty: true})) return false;
    const inside = node.scrollWidth > node.clientWidth + 1 && style.overflowX !== "visible" && !node.matches(may);
    return box.right > width + 1 || box.left < -1 || inside;
  };
  const found = [...document.body.querySelectorAll("*")].filter(cut);
  const inner = found.filter(node => !found.some(other => other !== node && node.contains(other)));
  const name = node => `<${node.tagName.toLowerCase()} class="${node.getAttribute("class") ?? ""}"> `
    + JSON.stringify((node.textContent || "").trim().slice(0, 50));
  const wide = document.documentElement.scrollWidth > width ? ["the page scrolls sideways"] : [];
  return wide.concat(inner.slice(0, 5).map(name));
}"""


@contextlib.contextmanager
def served(folder):
    """Serve a folder on this machine, as the browser's scripts need it; yields its address."""
    quiet = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(quiet, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


# All pages have one head, so that one window can show body after body: styles are read once, and no script runs.
# Drawers are closed, and are emptied, because they hold most of a page.
SHOW = """async address => {
  document.head.querySelector("base").href = address;
  const page = new DOMParser().parseFromString(await (await fetch(address)).text(), "text/html");
  const drawer = ".bd-sidebar-primary, .bd-sidebar-secondary, .pst-primary-sidebar-modal, .pst-secondary-sidebar-modal";
  page.querySelectorAll(drawer).forEach(node => node.replaceChildren());
  document.body.replaceWith(document.adoptNode(page.body));
  await Promise.all([...document.images].map(image => new Promise(done => {
    image.loading = "eager";
    image.onload = image.onerror = done;
    setTimeout(done, image.complete ? 0 : 5000);
  })));
}"""


def cut_on_a_phone(page, address, names):
    """Return a line for everything that a phone cuts off a page."""
    first = re.sub(r"<script.*?</script>", "", page.request.get(address).text(), flags=re.DOTALL)
    page.route(address, lambda route: route.fulfill(body=first, content_type="text/html; charset=utf-8"))
    page.goto(address)
    page.unroute(address)
    page.evaluate("document.head.append(document.createElement('base'))")
    cut = []
    for name in names:
        page.evaluate(SHOW, address + name)
        cut += [f"{name}: {what}" for what in page.evaluate(CUT)]
    return cut


# The search lists its results one by one, and reads the page of each for a summary: it need not come to the end.
LISTED = """place => document.querySelectorAll("#search-results ul.search > li > a").length >= place
  || !(document.querySelector("#search-results h2")?.innerText ?? "Searching").includes("Searching")"""


def found_too_late(page, address):
    """Return a line for every word whose page the site's own search does not list early enough."""
    late = []
    for word, (wanted, place) in SEARCHES.items():
        page.goto(f"{address}search.html?q={word}")
        page.wait_for_function(LISTED, arg=place)
        links = page.locator("#search-results ul.search > li > a").evaluate_all("all => all.map(a => a.pathname)")
        if "/" + wanted not in links[:place]:
            late.append(f"a search for {word!r} does not find {wanted} within {place}: {links[:4]}")
    return late


def browser():
    """Return the command of a browser, or None."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def in_a_browser(folder):
    """Return what a browser finds wrong; nothing, and a line that says so, where there is none."""
    command = browser()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        command = None
    if command is None:
        print("not looked at in a browser: playwright or Chromium is not here")
        return []
    names = [path.relative_to(folder).as_posix() for path in html(folder)]
    with served(folder) as address, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=command, args=["--no-sandbox"])
        page = chromium.new_page(viewport=PHONE)
        wrong = cut_on_a_phone(page, address, names) + found_too_late(page, address)
        chromium.close()
    return wrong


if __name__ == "__main__":
    folder = Path(sys.argv[1]).resolve()
    wrong = dead_links(folder) + dead_in_markdown(Path(__file__).resolve().parents[1])
    wrong += without_thumbnail(folder) + in_a_browser(folder)
    if wrong:
        sys.exit("\n".join(wrong))
