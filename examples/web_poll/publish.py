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
<p>{accepted} answers, each turned round by chance before it was sent.</p>
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
<p class="quiet">Nobody was kept from answering twice from two browsers. {refused} reports did not follow the
protocol and were left out.</p>
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


def page(path):
    """Return the page of what a poll found."""
    question, estimator, items, reports = read(path)
    fitted = estimator.fit_reports(reports, items=items)
    ends = dict(zip(items, (fitted.rank_intervals() + 1).tolist(), strict=True))
    rows = [
        f'<tr><td class="number">{rank}</td><td>{escape(str(item))}</td><td>{best} and {worst}</td></tr>'
        for rank, item in enumerate(fitted.consensus_.tolist(), start=1)
        for best, worst in [ends[item]]
    ]
    return PAGE.format(
        question=escape(question),
        accepted=fitted.reports_accepted_,
        refused=sum(fitted.reports_refused_.values()),
        rows="\n".join(rows),
        statement="\n".join(f"<li>{escape(line)}</li>" for line in fitted.privacy_.statement().splitlines()),
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Publish a poll.")
    parser.add_argument("file", type=Path, help="what collector.py kept")
    path = parser.parse_args().file
    if not path.exists():
        parser.error(f"there is no {path}")
    written = path.with_suffix(".html")
    written.write_text(page(path), encoding="utf-8")
    print(f"Published: {written}")
