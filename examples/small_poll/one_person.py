import sqlite3

from sklearn_dprank.collection import Allowance, Device


def report_once(path, protocol, poll, ballot, epsilon):
    """Return the one report of this person for a poll, when it is paid for and on the disk."""
    kept = sqlite3.connect(path, timeout=60, isolation_level=None)
    try:
        kept.execute("PRAGMA synchronous = EXTRA")
        kept.execute("CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, text TEXT NOT NULL)")
        kept.execute("BEGIN IMMEDIATE")  # no other process reads or writes before COMMIT
        texts = dict(kept.execute("SELECT name, text FROM state"))
        allowance = Allowance.from_json(texts["allowance"]) if texts else Allowance(epsilon)
        row = f"poll {poll}"  # never the row of the allowance
        if row in texts:
            device = Device.from_json(texts[row], allowance=allowance)
        else:
            device = Device(protocol, allowance=allowance)
        report = device.report(ballot)
        for name, text in (("allowance", allowance.to_json()), (row, device.to_json())):
            kept.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", (name, text))
        kept.execute("COMMIT")
        return report
    finally:
        kept.close()
