"""
Devices, two servers and a curator
==================================

Nobody sees a ballot, and nobody is trusted alone. 600 voters' devices run in other processes, as they would on 600
phones. Each adds a little noise to its net wins and splits the result in two: either half is a list of uniform random
numbers. Each of two servers, a process with a file of its own, gets one half of every report. Some devices never
answer, some die between their two messages, and one server is killed and started again. The servers agree on the
reports that both have, and each says one sum; the curator adds the two and publishes a consensus with its guarantee::

    python examples/run_secure_aggregation.py
    python examples/run_secure_aggregation.py --voters 5000 --epsilon 0.3 --processes 4

What this does not do: a device that sends nonsense in place of a ballot moves the sum as it likes, and nobody can see
that it does. Proofs that numbers are in range, as in Prio3, prevent that.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from sklearn_dprank import SecAggBorda
from sklearn_dprank.datasets import make_mallows
from sklearn_dprank.devices import Device
from sklearn_dprank.servers import AggregationServer, agreed

DISHES = ["dal", "laksa", "mole", "paella", "pho", "pierogi", "ramen", "shakshuka"]
ORDER = ["ramen", "pho", "mole", "dal", "laksa", "paella", "shakshuka", "pierogi"]  # what voters scatter around
MISSING = 0.04  # the share of voters who never answer
DYING = 0.03  # the share of devices that die after the first of their two messages

# %%
# A device
# --------
# A device reads the protocol, checks that its noise and that of ``min_reports`` others keep the epsilon that is stated,
# and writes one line for each server. Both lines carry one random number, by which the servers will recognise the
# report, and nothing of the voter.


def run_devices(protocol, ballots, dying, outboxes):
    """Run one device for each ballot, in a process of its own; write each server's messages as JSON lines."""
    with open(outboxes[0], "w") as first, open(outboxes[1], "w") as second:
        for ballot, dies in zip(ballots, dying, strict=True):
            one, two = Device(json.loads(protocol)).report(ballot)
            first.write(json.dumps(one) + "\n")
            if not dies:
                second.write(json.dumps(two) + "\n")


# %%
# A server
# --------
# A server keeps its shares in a file. ``receive`` takes messages, ``reports`` says which ones are there, and
# ``release`` says the sum of those that all servers have: once, and never over fewer than ``min_reports``. What it has
# heard and said outlives a crash.


def run_server():
    """Be one server: commands come as JSON lines, answers go out as JSON lines."""
    start = json.loads(sys.stdin.readline())
    server = AggregationServer(start["protocol"], start["number"], start["path"])
    for line in sys.stdin:
        command = json.loads(line)
        if "inbox" in command:
            with open(command["inbox"], "rb") as messages:
                answer = server.receive(messages)
        elif "release" in command:
            answer = server.release(command["release"])
        else:
            answer = server.reports()
        print(json.dumps(answer), flush=True)


class Remote:
    """A server in another process."""

    def __init__(self, **start):
        self.start = start
        command = [sys.executable, __file__, "--server"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._write(start)

    def ask(self, **command):
        self._write(command)
        return json.loads(self.process.stdout.readline())

    def _write(self, message):
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def killed_and_restarted(self):
        self.process.kill()
        self.close()
        return Remote(**self.start)

    def close(self):
        self.process.communicate()


# %%
# From end to end
# ---------------
# How much noise a device adds is fixed before anybody answers, by ``min_reports``: so many voters must be in the sum,
# or nothing is said.


def collected(protocol, answering, dying, processes, folder):
    """Return the reports that each server has, and each server's sum over those that both have."""
    parts = range(4 * processes)
    outboxes = [[Path(folder, f"for-{server}-{part}.jsonl") for server in range(2)] for part in parts]
    Parallel(n_jobs=processes)(
        delayed(run_devices)(json.dumps(protocol), answering[k :: len(parts)], dying[k :: len(parts)], outboxes[k])
        for k in parts
    )
    servers = [Remote(protocol=protocol, number=k, path=str(Path(folder, f"server-{k}.db"))) for k in range(2)]
    for part in parts:
        for number in range(2):
            servers[number].ask(inbox=str(outboxes[part][number]))
        if part == len(parts) // 2:
            servers[1] = servers[1].killed_and_restarted()
    heard = [server.ask(what="reports") for server in servers]
    sums = [server.ask(release=agreed(heard)) for server in servers]
    for server in servers:
        server.close()
    return heard, sums


def main(argv=None):
    """Split, add up, aggregate, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--voters", type=int, default=600)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--server", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.server:
        return run_server()

    center = np.argsort([DISHES.index(dish) for dish in ORDER])
    ballots = make_mallows(arguments.voters, len(DISHES), 0.6, center=center, random_state=0).tolist()
    answering = ballots[round(MISSING * len(ballots)) :]
    dying = [k < round(DYING * len(ballots)) for k in range(len(answering))]
    curator = SecAggBorda(epsilon=arguments.epsilon, delta=1e-6, min_reports=round(0.9 * len(ballots)))
    protocol = curator.protocol(DISHES)
    print(f"Protocol: {json.dumps(protocol)}\n")

    with tempfile.TemporaryDirectory() as folder:
        heard, sums = collected(protocol, answering, dying, arguments.processes, folder)
    curator.fit_sums(sums, items=DISHES)

    print(f"Voters:    {len(ballots)}, of whom {' and '.join(str(len(ids)) for ids in heard)} reached the two servers")
    print(f"A share:   {sums[0]['sum']}")
    print(f"Consensus: {' > '.join(curator.consensus_)}")
    print(f"Guarantee: {curator.privacy_}")
    print(f"           {curator.privacy_.how}")
    print(f"Trusted:   {', '.join(curator.privacy_.parties)}")
    print(f"           {curator.privacy_.caveats[0]}")
    print(f"In it:     {curator.reports_accepted_} voters")
    return None


if __name__ == "__main__":
    main()
