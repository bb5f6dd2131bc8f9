import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path

from sklearn_dprank import LDPPairwise

items = ["tea", "coffee", "water"]
estimator = LDPPairwise(epsilon=2.0)
stored = Path("reports.jsonl")
pages = {
    "/": ("text/html", Path("poll.html").read_bytes()),
    "/device.js": ("text/javascript", (files("sklearn_dprank.collection") / "device.js").read_bytes()),
    "/protocol.json": ("application/json", json.dumps(estimator.protocol(items)).encode()),
}


class Collector(BaseHTTPRequestHandler):
    def do_GET(self):
        kind, body = pages.get(self.path, ("text/plain", b"not found"))
        self.answer(200 if self.path in pages else 404, kind, body)

    def do_POST(self):
        try:
            length = int(self.headers["Content-Length"])
            message = json.loads(self.rfile.read(min(max(length, 0), 1_000)))
            line = json.dumps({"voter": str(message["voter"]), "report": message["report"]})
        except (ValueError, TypeError, KeyError, RecursionError):
            return self.answer(400, "text/plain", b"not a report")
        if estimator.count_reports([message["report"]], items=items).reports_refused:
            return self.answer(400, "text/plain", b"another protocol")
        with stored.open("a") as file:
            file.write("\n" + line)  # a line that a power loss has cut off stays alone
            file.flush()
            os.fsync(file.fileno())  # what was received survives a power loss
        self.answer(200, "text/plain", b"received")

    def answer(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        """Keep no addresses and no times."""


class Server(ThreadingHTTPServer):
    def handle_error(self, request, address):
        """Show the error without the address."""
        print("A request failed:", repr(sys.exc_info()[1]), file=sys.stderr)


def received():
    """Yield the stored messages. A line that is cut off was not acknowledged."""
    for line in stored.open("rb"):
        try:
            yield json.loads(line)
        except ValueError:
            continue


if sys.argv[1:] == ["result"]:
    first = {}  # the first report of each voter
    for message in received():
        first.setdefault(message["voter"], message["report"])
    estimator.fit_reports(first.values(), items=items)
    print("Ranking:", " > ".join(estimator.consensus_))
    print("Accepted:", estimator.reports_accepted_, "Refused:", estimator.reports_refused_)
else:
    server = Server(("127.0.0.1", 8000), Collector)
    print("Serving http://127.0.0.1:8000/ until Ctrl-C.", flush=True)
    server.serve_forever()
