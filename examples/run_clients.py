"""
Clients, a shuffler and a curator
=================================

The devices of 2,000 voters run in other processes, as they would on 2,000 phones. Each device has the public protocol
and one ballot, and writes one submission as a line of JSON. A shuffler checks the submissions and mixes their messages.
The curator reads only the mixed messages, and publishes a consensus with its guarantee::

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
ORDER = ["ramen", "pho", "mole", "dal", "laksa", "paella", "shakshuka", "pierogi"]  # the centre of the votes
MISSING = 0.04  # share of voters who never answer

# %%
# A device
# --------
# A device reads the protocol, draws a pair of dishes, flips its answer with the protocol's probability and writes one
# line. The line holds a random number, so that the shuffler counts it once. If the device is asked again, it sends the
# same line again.


def run_devices(protocol, ballots, outbox):
    """Run one device per ballot, in a separate process, and write their submissions as JSON lines."""
    with open(outbox, "w") as lines:
        for ballot in ballots:
            device = Device(json.loads(protocol))
            lines.write(json.dumps(device.report(ballot)) + "\n")


# %%
# The shuffler
# ------------
# The shuffler is the one party that all voters trust. It accepts only submissions of this protocol, and each of them
# once. It does not keep who sent a message or in which order. It releases no messages below ``min_reports`` voters. It
# sees no ballots.


def shuffle(protocol, outboxes, mixed):
    """Write the mixed messages of all submissions into a file; return the numbers of refused ones, by reason."""
    shuffler = Shuffler(json.loads(protocol))
    for outbox in outboxes:
        with open(outbox, "rb") as lines:
            shuffler.receive(lines)
    mixed.write_text("".join(json.dumps(message) + "\n" for message in shuffler.release()))
    return shuffler.refused


# %%
# From end to end
# ---------------
# ``min_reports`` fixes the randomisation of the devices before any voter answers. If fewer voters answer, no result is
# released. Invalid lines and repeated lines are left out and counted.


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
