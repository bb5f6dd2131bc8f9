"""Messages for aggregation servers, with shares that a test chooses."""

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
