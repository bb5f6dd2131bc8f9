-- What version 0.2.0 wrote for three charges: the output of sqlite3's iterdump, and two pragmas.
PRAGMA application_id = 1146114626;
PRAGMA user_version = 1;
CREATE TABLE releases (number INTEGER PRIMARY KEY, charged TEXT NOT NULL, what TEXT NOT NULL, guarantee TEXT NOT NULL);
INSERT INTO "releases" VALUES(1,'2026-11-23T03:39:34+00:00','DPBorda','{"epsilon": "0x1.99917a7a0b348p-3", "delta": "0x1.c414fec1c1e21p-23", "trust": "central", "neighboring": "replace", "how": "rounded Gaussian noise on 1 x NetWins", "arithmetic": "exact", "certified": true, "caveats": [], "unit": "one ballot", "losses": ["0x1.32f01f852b862p-9", [], []], "whom": []}');
INSERT INTO "releases" VALUES(2,'2026-11-23T03:39:34+00:00','LDPPairwise','{"epsilon": "0x1.0000000000000p-2", "delta": "0x0.0p+0", "trust": "local", "neighboring": "replace", "how": "reports by randomized response", "arithmetic": "exact", "certified": true, "caveats": [], "unit": "one ballot", "losses": ["0x0.0p+0", ["0x1.0000000000000p-2"], []], "whom": []}');
INSERT INTO "releases" VALUES(3,'2026-11-23T03:39:34+00:00','Umfrage – Mai','{"epsilon": "0x1.999999999999ap-4", "delta": "0x1.5798ee2308c3ap-27", "trust": "shuffle", "neighboring": "replace", "how": "reports", "arithmetic": "exact", "certified": true, "caveats": ["a", "b"], "unit": "one ballot", "losses": ["0x0.0p+0", [], [["0x1.999999999999ap-4", "0x1.5798ee2308c3ap-27"]]], "whom": []}');
CREATE TABLE terms (epsilon TEXT NOT NULL, delta TEXT NOT NULL, neighboring TEXT NOT NULL, basic_delta TEXT, simulation INTEGER NOT NULL);
INSERT INTO "terms" VALUES('0x1.0000000000000p+1','0x1.0c6f7a0b5ed8dp-20','replace','0x1.0c6f7a0b5ed8dp-21',0);
