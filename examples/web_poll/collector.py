"""
The collector of a poll: serves its page and stores the reports
===============================================================

The collector hands out the protocol and stores each report once. Reports are randomised in the voters' browsers, so
the collector does not see how anybody voted. It stores a report and the random number that the browser chose for it.
It does not store who sent it or when::

    python -m pip install ".[poll]"
    python examples/web_poll/collector.py poll.sqlite --question "What shall we have?" --items tea,coffee,water,juice
    python examples/web_poll/publish.py poll.sqlite
"""

import argparse
import asyncio
import json
import re
import socket
import sqlite3
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path

import uvicorn
from poll_file import (
    OtherPoll,
    add_report,
    begin,
    has_ticket,
    is_begun,
    open_shuffler,
    read_id,
    read_poll,
    result_page,
    writing,
)
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from sklearn_dprank import LDPPairwise, ShufflePairwise

STATIC = Path(__file__).parent / "static"
CLIENT = str(files("sklearn_dprank.collection") / "device.js")
MOST_OF_ONE = 1000  # voters who may share one address
TICKET = re.compile(r"[0-9a-f]{32}")
LOCAL = ("127.0.0.1", "localhost")
POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-cache"),  # the page and its scripts must be of one version
]


def collector(path, hosts=LOCAL, most_of_one=MOST_OF_ONE):
    """Return the web application of the poll in a file, for requests to these host names.

    One address may store `most_of_one` reports. Their numbers are kept in memory, until the collector ends.
    """
    question, protocol, estimator = read_poll(path)
    largest = 1000 + 100 * protocol["n_queries"]  # bytes of a request
    stored = Counter()
    poll = read_id(path)
    public = json.dumps({"poll": poll, "question": question, "protocol": json.dumps(protocol)})
    page = result_page(path)
    shuffler = open_shuffler(path, protocol)
    writer = ThreadPoolExecutor(1)  # a file that is locked for a while does not stop the other requests

    def keep(sender, ticket, report):
        """Store the first report of a ticket, and return the status of the response and its text."""
        with writing(path, poll) as kept:
            if has_ticket(kept, ticket):  # it counts once, also for its address
                return 204, ""
            if stored[sender] >= most_of_one:
                return 429, "too many answers came from this address"
            reason = check(report) if shuffler is None else pass_on(report)
            if reason is not None:
                return 400, f"the report does not follow the protocol: {reason}"
            add_report(kept, ticket, report if shuffler is None else None)
        stored[sender] += 1  # in the one thread of the writer, so that requests at once cannot pass together
        return 204, ""

    def check(report):
        """Return why a report is refused, or None."""
        return next(iter(estimator.count_reports([report], items=protocol["items"]).reports_refused), None)

    def pass_on(report):
        """Give a report to the shuffler and return None, or return why it was refused."""
        before = shuffler.refused
        shuffler.receive([report])  # one submission is one voter
        new = [reason for reason, count in shuffler.refused.items() if count > before.get(reason, 0)]
        return None if new in ([], ["received before"]) else new[0]

    async def ask(request):
        return Response(public, media_type="application/json")

    async def take(request):
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return PlainTextResponse("the content type must be application/json", status_code=415)
        try:
            body = await bounded(request, largest)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it
        if body is None:
            return PlainTextResponse("a report is shorter", status_code=413)
        try:
            sent = json.loads(body)
            asked, ticket, report = sent["poll"], sent["ticket"], sent["report"]
            usable = isinstance(report, dict) and TICKET.fullmatch(ticket)
        except (ValueError, KeyError, TypeError, RecursionError):
            usable = False
        if not usable:
            return PlainTextResponse("not a poll, a ticket and a report", status_code=400)
        if asked != poll:  # a page that was loaded before; its protocol may be the same
            return PlainTextResponse("this is the answer to another question, load the page again", status_code=409)
        sender = request.client.host if request.client else ""
        try:
            loop = asyncio.get_running_loop()
            status, text = await loop.run_in_executor(writer, keep, sender, ticket, report)
        except OtherPoll as error:
            return PlainTextResponse(str(error), status_code=409)
        except (OSError, sqlite3.Error):  # locked, damaged, or no space left
            return PlainTextResponse("the collector cannot store reports now, try again later", status_code=503)
        return PlainTextResponse(text, status_code=status) if text else Response(status_code=status)

    async def client(request):
        return FileResponse(CLIENT, media_type="text/javascript")

    async def result(request):
        return FileResponse(page) if page.exists() else FileResponse(STATIC / "nothing.html", 404)

    routes = [
        Route("/device.js", client),
        Route("/protocol", ask),
        Route("/reports", take, methods=["POST"]),
        Route("/result", result),
        Mount("/", StaticFiles(directory=STATIC, html=True)),
    ]
    known = Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False)
    return with_headers(Starlette(routes=routes, middleware=[known]))


def with_headers(application):
    """Return an application that adds `HEADERS` to every response, errors included."""

    async def respond(scope, receive, send):
        async def send_more(message):
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), *HEADERS]}
            await send(message)

        await application(scope, receive, send_more)

    return respond


async def bounded(request, largest):
    """Return the body of a request, or None as soon as it is too long."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > largest:
            return None
    return bytes(body)


def main():
    """Begin a poll, or continue one, and serve it."""
    parser = argparse.ArgumentParser(description="Serve a private poll.")
    parser.add_argument("file", type=Path, help="where the reports are stored; a new file begins a poll")
    parser.add_argument("--question", default="What do you like best?")
    parser.add_argument("--items", default="tea,coffee,water,juice,milk", help="separated by commas")
    parser.add_argument("--epsilon", type=float, default=2.0, help="of one voter")
    parser.add_argument("--shuffle", type=int, metavar="VOTERS", help="mix the answers of at least so many voters")
    parser.add_argument("--host", action="append", default=[], help="a host name that voters use, besides localhost")
    parser.add_argument(
        "--most-of-one", type=int, default=MOST_OF_ONE, help="answers from one address; more behind a proxy"
    )
    parser.add_argument("--port", type=int, default=8000, help="0 picks a free port")
    options = parser.parse_args()
    try:
        result_page(options.file)
        if is_begun(options.file):
            print(
                f"The poll in {options.file} continues with its own question and items. A new file begins another poll."
            )
        else:
            shuffled = ShufflePairwise(local_epsilon=options.epsilon, min_reports=options.shuffle)
            estimator = shuffled if options.shuffle else LDPPairwise(epsilon=options.epsilon)
            begin(options.file, options.question, estimator, [item.strip() for item in options.items.split(",")])
        application = collector(options.file, [*LOCAL, *options.host], options.most_of_one)
        listening = socket.create_server(("127.0.0.1", options.port))
    except (ValueError, OSError, sqlite3.Error) as error:  # wrong items, a file that is not a poll, a port in use
        parser.error(str(error))
    with listening:
        print(f"Serving http://127.0.0.1:{listening.getsockname()[1]}/ until Ctrl-C.", flush=True)
        uvicorn.Server(uvicorn.Config(application, access_log=False, proxy_headers=False)).run(sockets=[listening])


if __name__ == "__main__":
    main()
