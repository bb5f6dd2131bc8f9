"""
Clients, two servers and a curator
==================================

Only the voter sees a ballot, and no party has to be trusted alone. The devices of 600 voters run in other processes, as
they would on 600 phones. Each device adds a little noise to its net wins and splits the result into two shares. Each
share is a list of uniform random numbers. Each of two servers, a process with its own file, gets one share of every
report. Some devices never answer, some stop between their two messages, and one server is killed and started again. The
servers agree on the reports that both have, and each releases one sum. The curator adds the two sums and publishes a
consensus with its guarantee::

    python examples/run_secure_aggregation.py
    python examples/run_secure_aggregation.py --voters 5000 --epsilon 0.3 --processes 4
    python examples/run_secure_aggregation.py --swiss

With ``--swiss``, voters answer in rounds, about 16 dishes. The first round asks for the net wins of all dishes. Later
rounds ask for net wins within groups of dishes that are close according to the earlier answers, or for the margins of
pairs. The protocol states all rounds beforehand, and their joint cost.

Limitation: a device that sends false numbers in place of a ballot can change the sum by any amount, and no party can
detect it. Proofs that numbers are in range, as in Prio3, prevent that.
"""

# sphinx_gallery_thumbnail_path = "images/thumbnails/run_secure_aggregation.png"

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from sklearn_dprank import SecAggBorda, SecAggSwissBorda
from sklearn_dprank.collection import AggregationServer, Device, agreed
from sklearn_dprank.datasets import make_mallows

DISHES = ["dal", "laksa", "mole", "paella", "pho", "pierogi", "ramen", "shakshuka"]
ORDER = ["ramen", "pho", "mole", "dal", "laksa", "paella", "shakshuka", "pierogi"]  # the centre of the votes
MORE = ["bibimbap", "ceviche", "falafel", "goulash", "jollof", "moussaka", "okonomiyaki", "poutine"]
MISSING = 0.04  # share of voters who never answer
DYING = 0.03  # share of devices that stop after the first of their two messages

# %%
# A device
# --------
# A device reads the protocol. It checks that the noise of ``min_reports`` devices keeps the stated epsilon. It writes
# one line for each server. Both lines carry the same number, by which the servers recognise the report. The number does
# not identify the voter.


def run_devices(protocol, ballots, dying, outboxes):
    """Run one device per ballot, in a separate process, and write each server's messages as JSON lines."""
    with open(outboxes[0], "w") as first, open(outboxes[1], "w") as second:
        for ballot, dies in zip(ballots, dying, strict=True):
            one, two = Device(json.loads(protocol)).report(ballot)
            first.write(json.dumps(one) + "\n")
            if not dies:
                second.write(json.dumps(two) + "\n")


# %%
# A server
# --------
# A server stores its shares in a file. ``receive`` reads messages, ``reports`` lists the stored reports, and
# ``release`` returns the sum of those that all servers have. It does so once, and never for fewer than ``min_reports``.
# The stored messages and releases survive a crash.


def run_server():
    """Run one server, with commands and answers as JSON lines."""
    start = json.loads(sys.stdin.readline())
    server = AggregationServer(start["protocol"], start["number"], start["path"])
    for line in sys.stdin:
        command = json.loads(line)
        if "inbox" in command:
            with open(command["inbox"], "rb") as messages:
                answer = server.receive(messages)
        elif "question" in command:
            answer = server.ask(command["question"])
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
# ``min_reports`` fixes the noise of each device before any voter answers. If the sum has fewer voters, it is not
# released.


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


# %%
# In rounds
# ---------
# A device that answers in rounds must survive between them. It is saved as text (``to_json``) after each answer and
# before the answer is sent. Even after a crash, it never answers a question twice. ``fit_interactive`` calls ``ask``
# with one question after another. Here, ``ask`` restores the devices, delivers their messages and returns the sums of
# the servers. Voters who miss a round may answer the next. If a round has too few voters, its sums are not released,
# and the other rounds decide.


def run_round(question, home, missing, outboxes):
    """Let the devices of one process answer a question, and save each device before its messages are sent."""
    awake = [json.loads(line) for line in home.read_text().splitlines()]
    messages = []
    for voter, missed in zip(awake, missing, strict=True):
        device = Device.from_json(voter["device"])
        if not missed:
            messages.append(device.answer(question, voter["ballot"]))
        voter["device"] = device.to_json()
    saved = home.with_suffix(".new")
    with saved.open("w") as file:
        file.writelines(json.dumps(voter) + "\n" for voter in awake)
        file.flush()
        os.fsync(file.fileno())  # on the disk before a message leaves
    saved.replace(home)
    for number, outbox in enumerate(outboxes):
        outbox.write_text("".join(json.dumps(split[number]) + "\n" for split in messages))


def in_rounds(curator, items, ballots, processes, folder):
    """Fit the curator on devices that answer in rounds; return the number of voters in each round's sums."""
    protocol, parts, counted = curator.protocol(items), range(2 * processes), []
    homes = [Path(folder, f"devices-{part}.jsonl") for part in parts]
    for part, home in enumerate(homes):
        made = [{"device": Device(protocol).to_json(), "ballot": ballot} for ballot in ballots[part :: len(parts)]]
        home.write_text("".join(json.dumps(voter) + "\n" for voter in made))
    servers = [Remote(protocol=protocol, number=k, path=str(Path(folder, f"server-{k}.db"))) for k in range(2)]

    def ask(question):
        away = np.random.default_rng(question["question"]).random(len(ballots)) < MISSING
        outboxes = [[Path(folder, f"for-{server}-{part}.jsonl") for server in range(2)] for part in parts]
        Parallel(n_jobs=processes)(
            delayed(run_round)(question, homes[k], away[k :: len(parts)], outboxes[k]) for k in parts
        )
        if question["question"] == 2:
            servers[1] = servers[1].killed_and_restarted()
        for number, server in enumerate(servers):
            server.ask(question=question)
            for outbox in outboxes:
                server.ask(inbox=str(outbox[number]))
        chosen = agreed(server.ask(what="reports") for server in servers)
        counted.append(len(chosen))
        return [server.ask(release=chosen) for server in servers]

    curator.fit_interactive(ask, items=items, n_voters=len(ballots))
    for server in servers:
        server.close()
    return counted


def swiss(voters, epsilon, processes):
    """Collect answers in rounds, aggregate, and print."""
    items = sorted(DISHES + MORE)
    center = np.argsort([items.index(dish) for dish in ORDER + MORE])
    ballots = make_mallows(voters, len(items), 0.6, center=center, random_state=0).tolist()
    curator = SecAggSwissBorda(epsilon=epsilon, delta=1e-6, min_reports=round(0.9 * voters))
    with tempfile.TemporaryDirectory() as folder:
        counted = in_rounds(curator, items, ballots, processes, folder)
    print(f"Protocol:  {json.dumps(curator.protocol(items))}\n")
    print(f"Voters:    {len(ballots)}, of whom {', '.join(map(str, counted))} are in the sums of the rounds")
    print_result(curator)


def main(argv=None):
    """Collect shares, add them up, aggregate, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--voters", type=int, default=600)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--swiss", action="store_true", help="ask voters in rounds")
    parser.add_argument("--server", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.server:
        return run_server()
    if arguments.swiss:
        return swiss(arguments.voters, arguments.epsilon, arguments.processes)

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
    print_result(curator)
    return None


def print_result(curator):
    """Print the results that may be published."""
    print(f"Consensus: {' > '.join(curator.consensus_)}")
    print(f"Guarantee: {curator.privacy_}")
    print(f"           {curator.privacy_.how}")
    print(f"Trusted:   {', '.join(curator.privacy_.parties)}")
    print(f"           {curator.privacy_.caveats[0]}")
    print(f"In it:     {curator.reports_accepted_} voters")


if __name__ == "__main__":
    main()
