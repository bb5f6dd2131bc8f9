"""Messages for aggregation servers, with shares that a test chooses, and the sums of what devices send."""

from sklearn_dprank.collection import AggregationServer, Device, agreed
from sklearn_dprank.collection.protocol import digest
from sklearn_dprank.collection.shares import commitment, report_number


def message_to(server, protocol, shares, salt, question=None):
    """Return the message to one server of a report with these shares, one for each server, and equal salts."""
    head = {"protocol": digest(protocol)}
    if question is not None:
        head["question"] = digest(question)
    parts = [{"server": k, "salt": f"{salt:032x}", "share": share} for k, share in enumerate(shares)]
    commitments = [commitment({**head, **part}) for part in parts]
    return {**head, "report": report_number(commitments), "commitments": commitments, **parts[server]}


def collected(protocol, ballots, seed=None):
    """The sums of servers that all devices reached."""
    servers = [AggregationServer(protocol, number) for number in range(protocol["servers"])]
    for voter, ballot in enumerate(ballots):
        device = Device(protocol, max_delta=0.5, random_state=None if seed is None else seed * 1000 + voter)
        for server, message in zip(servers, device.report(ballot), strict=True):
            server.receive([message])
    chosen = agreed(server.reports() for server in servers)
    return [server.release(chosen) for server in servers]
