"""
Publish a poll: a page with the ranking, its certainty and its privacy guarantee
================================================================================

Reads what `collector.py` stored, and writes a page beside it, which the collector then shows::

    python examples/web_poll/publish.py poll.sqlite
"""

import argparse
import sqlite3
from dataclasses import replace
from html import escape
from pathlib import Path

from poll_file import read_poll, read_reports, result_page, write_whole

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{question}</title>
<link rel="stylesheet" href="style.css">
</head>
<body>
<main>
<h1>{question}</h1>
<p>This ranking is computed from {voters}. {verdict}</p>
<table>
<thead><tr><th class="number">Rank</th><th>Item</th><th class="range">Range of the true rank</th></tr></thead>
<tbody>
{rows}
</tbody>
</table>
<h2>How to read the table</h2>
<ul class="quiet">
<li>An item's true rank is 1 more than the number of items that most of these voters prefer to it.</li>
<li>Chance reversed some answers, so the true ranks are not known exactly. The ranges are 95 % confidence intervals: all
of them hold at once in at least 95 % of such polls.</li>
<li>The ranges are of these voters and of a population, if these voters are a random sample of it.</li>
<li>Anybody can answer twice with two browsers.{refused}</li>
</ul>
<h2>How your vote is protected</h2>
<p class="quiet">{protection}</p>
<details>
<summary>The exact guarantee</summary>
<ul class="quiet">
{statement}
</ul>
</details>
<p><a href="./">Back to the question</a></p>
</main>
</body>
</html>
"""
ROW = '<tr><td class="number">{rank}</td><td>{item}</td><td class="range">{range}</td></tr>'
SCRIPT = "whoever sends the script of this page"
PROTECTION = (
    "The browser of each voter sent {answers}, about which of two items is higher. It drew the items at random and "
    "reversed an answer by chance in {flipped} % of cases. So nobody can be sure how somebody voted. This holds if the "
    "browser ran the right script, which this site sends. Several polls add up: each one reveals a little more."
)


def counted(number, noun):
    """Return a number with its noun in the singular or plural."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def page(path):
    """Return the page with the result of a poll."""
    question, protocol, estimator = read_poll(path)
    items, (flip, grid) = protocol["items"], protocol["flip"]
    fitted = estimator.fit_reports(read_reports(path, protocol), items=items)
    ends = dict(zip(items, (fitted.rank_intervals() + 1).tolist(), strict=True))
    settled = any(best > 1 or worst < len(items) for best, worst in ends.values())
    refused = sum(fitted.reports_refused_.values())
    rows = [
        ROW.format(rank=rank, item=escape(str(item)), range=between(*ends[item]))
        for rank, item in enumerate(fitted.consensus_.tolist(), start=1)
    ]
    # the package does not know that a site sends the devices their code
    guarantee = replace(fitted.privacy_, whom=((fitted.privacy_.trust, SCRIPT), *fitted.privacy_.whom))
    return PAGE.format(
        question=escape(question),
        voters="the answers of " + counted(fitted.reports_accepted_, "voter"),
        verdict="" if settled else "<strong>They settle no rank: this order may be due to chance alone.</strong>",
        refused=f" {counted(refused, 'report')} did not follow the protocol and did not count." if refused else "",
        rows="\n".join(rows),
        protection=PROTECTION.format(
            answers=counted(protocol["n_queries"], "answer"), flipped=f"{100 * flip / grid:.2g}"
        ),
        statement="\n".join(f"<li>{escape(line)}</li>" for line in guarantee.statement(None).splitlines()),
    )


def between(best, worst):
    """Return the range of a rank in words."""
    return f"{best}" if best == worst else f"{best} to {worst}"


def main():
    """Write the page with the result of a poll."""
    parser = argparse.ArgumentParser(description="Publish a poll.")
    parser.add_argument("file", type=Path, help="the file of collector.py")
    path = parser.parse_args().file
    try:
        written = result_page(path)
        write_whole(written, page(path))
    except (ValueError, OSError, sqlite3.Error) as error:  # too few answers, or not a poll
        parser.error(f"nothing is published: {error}")
    print(f"Published: {written}")


if __name__ == "__main__":
    main()
