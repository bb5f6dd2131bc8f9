"""
Publish a poll: the consensus, its guarantee and how sure it is, as a page
==========================================================================

Reads what `collector.py` kept, and writes a page beside it, which the collector then shows::

    python examples/web_poll/publish.py poll.sqlite
"""

import argparse
import json
import sqlite3
from contextlib import closing
from html import escape
from pathlib import Path

from sklearn_dprank import LDPPairwise, ShufflePairwise

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
<p>From {voters}. Before it left its voter, each answer was turned round now and then, by chance. {verdict}</p>
<table>
<thead><tr><th class="number">Rank</th><th>Item</th><th>Really between</th></tr></thead>
<tbody>
{rows}
</tbody>
</table>
<p class="quiet">The last column holds for all items at once with a probability of 95 %. It speaks of those who
answered, and of what chance hides of them: the ranks are those by how many prefer an item to each of the others.</p>
<h2>What every voter is promised</h2>
<ul class="quiet">
{statement}
</ul>
<p class="quiet">Nobody was kept from answering twice from two browsers.{refused}</p>
<p><a href="./">Back to the question</a></p>
</main>
</body>
</html>
"""


def read(path):
    """Return the question, an estimator with the poll's parameters, the items, and the reports in a random order."""
    with closing(sqlite3.connect(path)) as kept:
        question, text, trust, epsilon = kept.execute("SELECT * FROM poll").fetchone()
        reports = [json.loads(report) for (report,) in kept.execute("SELECT report FROM reports ORDER BY ticket")]
    protocol = json.loads(text)
    if trust == "local":
        estimator = LDPPairwise(epsilon=epsilon, n_queries=protocol["n_queries"])
    else:
        local = float(protocol["local_epsilon"])
        estimator = ShufflePairwise(local_epsilon=local, min_reports=protocol["min_reports"])
        reports = [message for report in reports for message in (report if isinstance(report, list) else [report])]
    return question, estimator, protocol["items"], reports


def counted(number, what):
    """Return so many of something in words."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def page(path):
    """Return the page of what a poll found."""
    question, estimator, items, reports = read(path)
    fitted = estimator.fit_reports(reports, items=items)
    ends = dict(zip(items, (fitted.rank_intervals() + 1).tolist(), strict=True))
    sure = sum(best > 1 or worst < len(items) for best, worst in ends.values())
    refused = sum(fitted.reports_refused_.values())
    rows = [
        f'<tr><td class="number">{rank}</td><td>{escape(str(item))}</td><td>{best} and {worst}</td></tr>'
        for rank, item in enumerate(fitted.consensus_.tolist(), start=1)
        for best, worst in [ends[item]]
    ]
    lines = fitted.privacy_.statement().replace("; PrivacyGuarantee.compose says to what", "").splitlines()
    return PAGE.format(
        question=escape(question),
        voters=counted(fitted.reports_accepted_, "answer"),
        verdict="" if sure else "<strong>No rank is settled by them: this order may be chance alone.</strong>",
        refused=f" {counted(refused, 'report')} did not follow the protocol, and did not count." if refused else "",
        rows="\n".join(rows),
        statement="\n".join(f"<li>{escape(line)}</li>" for line in lines),
    )


def main():
    """Write the page of a poll."""
    parser = argparse.ArgumentParser(description="Publish a poll.")
    parser.add_argument("file", type=Path, help="what collector.py kept")
    path = parser.parse_args().file
    if not path.exists():
        parser.error(f"there is no {path}")
    written = path.with_suffix(".html")
    try:
        written.write_text(page(path), encoding="utf-8")
    except (ValueError, sqlite3.Error) as error:  # too few answers, or no poll
        parser.error(f"nothing is published: {error}")
    print(f"Published: {written}")


if __name__ == "__main__":
    main()
