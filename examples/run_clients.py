"""
Devices, a shuffler and a curator
=================================

2,000 voters' devices run in other processes, as they would on 2,000 phones. Each knows the public protocol and
one ballot, and writes one submission as a line of JSON. A shuffler checks the submissions and mixes their messages. The
curator reads the mixed messages, and nothing else, and publishes a consensus with its guarantee::

    python examples/run_clients.py
    python examples/run_clients.py --voters 10000 --epsilon 0.3 --processes 4
"""

# sphinx_gallery_thumbnail_path = "images/thumbnails/run_clients.png"

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from sklearn_dprank import ShufflePairwise
from sklearn_dprank.collection import Device, Shuffler
from sklearn_dprank.datasets import make_mallows

DISHES = ["dal", "laksa", "mole", "paella", "pho", "pierogi", "ramen", "shakshuka"]
ORDER = ["ramen", "pho", "mole", "dal", "laksa", "paella", "shakshuka", "pierogi"]  # what voters scatter around
MISSING = 0.04  # the share of voters who never answer

# %%
# A device
# --------
# A device reads the protocol, draws a pair of dishes, flips its answer with the protocol's probability and writes
# one line. The line holds a random number, so that the shuffler counts it once: a device that is asked again sends the
# same line again.


def run_devices(protocol, ballots, outbox):
    """Run one device for each ballot, in a process of its own; write their submissions as JSON lines."""
    with open(outbox, "w") as lines:
        for ballot in ballots:
            device = Device(json.loads(protocol))
            lines.write(json.dumps(device.report(ballot)) + "\n")


# %%
# The shuffler
# ------------
# The one party that everybody trusts: it accepts submissions of this protocol only and each once, forgets who sent what
# and in which order, and releases nothing below ``min_reports`` voters. It sees no ballots.


def shuffle(protocol, outboxes, mixed):
    """Write the mixed messages of all submissions into a file; return how many were refused, by reason."""
    shuffler = Shuffler(json.loads(protocol))
    for outbox in outboxes:
        with open(outbox, "rb") as lines:
            shuffler.receive(lines)
    mixed.write_text("".join(json.dumps(message) + "\n" for message in shuffler.release()))
    return shuffler.refused


# %%
# From end to end
# ---------------
# How far a device goes is fixed before anybody answers, by ``min_reports``: so many voters must come, or
# nothing is released. The spare lines that somebody slipped in are left out and counted, and so is a line that comes
# twice.


def main(argv=None):
    """Collect, shuffle, aggregate, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--voters", type=int, default=2000)
    parser.add_argument("--epsilon", type=float, default=1.0, help="central target")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args(argv)

    center = np.argsort([DISHES.index(dish) for dish in ORDER])
    ballots = make_mallows(arguments.voters, len(DISHES), 0.6, center=center, random_state=0).tolist()
    answering = ballots[round(MISSING * len(ballots)) :]
    curator = ShufflePairwise(epsilon=arguments.epsilon, delta=1e-6, min_reports=round(0.95 * len(ballots)))
    protocol = json.dumps(curator.protocol(DISHES))
    print(f"Protocol: {protocol}\n")

    with tempfile.TemporaryDirectory() as folder:
        chunks = [answering[k :: 4 * arguments.processes] for k in range(4 * arguments.processes)]
        outboxes = [Path(folder, f"outbox-{k}.jsonl") for k in range(len(chunks))]
        Parallel(n_jobs=arguments.processes)(
            delayed(run_devices)(protocol, *work) for work in zip(chunks, outboxes, strict=True)
        )
        first = outboxes[0].read_text()
        outboxes[0].write_text(first + '{"version": 1, "pair": "all of them"}\nhello\n' + first.splitlines()[0])
        mixed = Path(folder, "mixed.jsonl")
        refused = shuffle(protocol, outboxes, mixed)
        with open(mixed) as lines:
            curator.fit_reports(lines, items=DISHES)

    print(f"Consensus: {' > '.join(curator.consensus_)}")
    print(f"Guarantee: {curator.privacy_}")
    print(f"           {curator.privacy_.how}")
    print(f"           {curator.privacy_.caveats[0]}")
    print(f"Left out:  {refused}")


if __name__ == "__main__":
    main()
