"""
The collector of a poll: serves its page, and keeps the reports
===============================================================

It hands out the protocol, takes each report once and writes it into a file. It cannot tell how anybody voted: what
reaches it was randomised in the voter's browser. It keeps a report and the random number that the browser chose for it,
and nothing about who sent it or when::

    python -m pip install ".[poll]"
    python examples/web_poll/collector.py poll.sqlite --question "What shall we have?" --items tea,coffee,water,juice
    python examples/web_poll/publish.py poll.sqlite
"""

import argparse
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from sklearn_dprank import LDPPairwise, ShufflePairwise

STATIC = Path(__file__).parent / "static"
LARGEST = 100_000  # bytes of one request
TICKET = re.compile(r"[0-9a-f]{32}")
TABLES = """
CREATE TABLE poll (question TEXT, protocol TEXT, trust TEXT, epsilon REAL);
CREATE TABLE reports (ticket TEXT PRIMARY KEY, report TEXT NOT NULL) WITHOUT ROWID;
"""  # sorted by a random number: not even the order of arrival is kept


def begin(path, question, estimator, items):
    """Write a new poll, which nobody has answered, into a file that is not there yet."""
    trust = "shuffle" if isinstance(estimator, ShufflePairwise) else "local"
    protocol = json.dumps(estimator.protocol(items))
    with closing(sqlite3.connect(path)) as kept, kept:
        kept.executescript(TABLES)
        kept.execute("PRAGMA secure_delete = ON")
        kept.execute("INSERT INTO poll VALUES (?, ?, ?, ?)", (question, protocol, trust, estimator.epsilon))


def collector(path):
    """Return the web application of the poll in a file."""
    with closing(sqlite3.connect(path)) as kept:
        question, protocol = kept.execute("SELECT question, protocol FROM poll").fetchone()
    public = json.dumps({"question": question, "protocol": protocol})

    async def ask(request):
        return Response(public, media_type="application/json")

    async def take(request):
        body = await bounded(request)
        if body is None:
            return PlainTextResponse("a report is shorter", status_code=413)
        try:
            said = json.loads(body)
            ticket, report = said["ticket"], said["report"]
            usable = isinstance(report, (dict, list)) and TICKET.fullmatch(ticket)
        except (ValueError, KeyError, TypeError, RecursionError):
            usable = False
        if not usable:
            return PlainTextResponse("not a ticket and a report", status_code=400)
        with closing(sqlite3.connect(path, timeout=30)) as kept, kept:  # the first of a ticket stays
            kept.execute("INSERT OR IGNORE INTO reports VALUES (?, ?)", (ticket, json.dumps(report)))
        return Response(status_code=204)

    async def result(request):
        page = Path(path).with_suffix(".html")
        return FileResponse(page) if page.exists() else FileResponse(STATIC / "nothing.html", 404)

    routes = [
        Route("/protocol", ask),
        Route("/reports", take, methods=["POST"]),
        Route("/result", result),
        Mount("/", StaticFiles(directory=STATIC, html=True)),
    ]
    return Starlette(routes=routes)


async def bounded(request):
    """Return the body of a request, or None as soon as it is too long."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST:
            return None
    return bytes(body)


def main():
    """Begin a poll, or go on with one, and serve it."""
    parser = argparse.ArgumentParser(description="Serve a private poll.")
    parser.add_argument("file", type=Path, help="where the reports are kept; begun if it is not there")
    parser.add_argument("--question", default="What do you like best?")
    parser.add_argument("--items", default="tea,coffee,water,juice,milk", help="with commas between")
    parser.add_argument("--epsilon", type=float, default=2.0, help="of one voter")
    parser.add_argument("--shuffle", type=int, metavar="VOTERS", help="answers about hidden pairs, of so many at least")
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    try:
        if options.file.exists():
            print(f"Goes on with the poll in {options.file}, its question and its items; a new file begins another.")
        else:
            shuffled = ShufflePairwise(local_epsilon=options.epsilon, min_reports=options.shuffle)
            estimator = shuffled if options.shuffle else LDPPairwise(epsilon=options.epsilon)
            begin(options.file, options.question, estimator, [item.strip() for item in options.items.split(",")])
        application = collector(options.file)
    except (ValueError, sqlite3.Error) as error:  # items that are none, a file that is no poll or cannot be written
        parser.error(str(error))
    uvicorn.run(application, host="127.0.0.1", port=options.port, access_log=False)


if __name__ == "__main__":
    main()
