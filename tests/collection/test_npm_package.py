"""The npm package of the JavaScript client: what is packed, its types, and a page that imports it."""

import json
import shutil
import subprocess
import tarfile
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from process_tools import ROOT

import sklearn_dprank
from sklearn_dprank import LDPPairwise

FOLDER = ROOT / "sklearn_dprank" / "collection"
PACKAGE = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))
NAMES = ["tea", "coffee", "water"]
TYPESCRIPT = "typescript@5.9.3"

# What the module has in node: its names, and those of objects of its classes.
SAY_NAMES = """
import * as all from "sklearn-dprank-device";
const allowance = new all.Allowance("8", { update: async () => undefined });
const device = new all.Device(JSON.parse(process.argv[1]), { poll: "0".repeat(32), allowance });
const fields = (made) => [...Object.keys(made), ...Object.getOwnPropertyNames(Object.getPrototypeOf(made))];
const own = (made) => fields(made).filter((name) => name !== "constructor");
console.log(JSON.stringify([Object.keys(all), own(device), own(allowance), own(new all.SecureWords())]));
"""
# What a user writes; tsc reports an error that is expected and does not come.
USE = """
import * as all from "sklearn-dprank-device";
import { Allowance, BrowserStore, BudgetExhausted, Device, Refused, checkProtocol, digest, draw, epsilonOf, publicPairs,
  readProtocol, type Report, type Store, type StoredRecord } from "sklearn-dprank-device";

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
const names: Same<keyof typeof all, %s> = true;
const ofDevice: Same<keyof Device, %s> = true;
const ofAllowance: Same<keyof Allowance, %s> = true;
const ofWords: Same<keyof all.SecureWords, %s> = true;
console.log(names, ofDevice, ofAllowance, ofWords);

const protocol = readProtocol("{}");
// @ts-expect-error its form is not checked yet
epsilonOf(protocol);
checkProtocol(protocol, "4");
const epsilon: number = epsilonOf(protocol);

class Memory implements Store {
  kept: StoredRecord | undefined;
  async update(_: string, change: (value: StoredRecord | undefined) => StoredRecord | undefined) {
    return (this.kept = change(this.kept));
  }
}
const allowance = new Allowance("8", epsilon > 1 ? new BrowserStore() : new Memory());
// @ts-expect-error decimal text
new Allowance(8, new Memory());
const device = new Device(protocol, { poll: "0".repeat(32), allowance, maxEpsilon: 4, voter: null });
// @ts-expect-error no poll
new Device(protocol, { allowance });
const report: Report = await device.report([0, null, 1.5]);
await device.report([[0, 1, 1], [2, 0, null]]);
// @ts-expect-error no outcome
await device.report([[0, 1]]);
// @ts-expect-error text
await device.report(["1", "2"]);
if ("messages" in report) console.log(report.messages[0].shuffle);
else console.log(report.pairs[0][1], report.voter);
if (device.protocol.randomizer === "rr-assigned") await publicPairs(device.protocol, 3);
const streams = { noise: new all.SecureWords(), coins: { take: (n: number) => Array<bigint>(n).fill(0n) } };
await draw(protocol, [0, 1], { ...streams, assignment: streams.noise }, [[0, 1]], null);
const text: string = (await digest(protocol)) + (await device.ticket());
console.log(text, new BudgetExhausted("") instanceof Refused);
"""
OPTIONS = {"strict": True, "noEmit": True, "target": "es2022", "module": "nodenext", "lib": ["es2022", "dom"]}


def npm(*words, cwd):
    """Run npm without looks at the registry that are not asked for; skip where it is missing."""
    command = shutil.which("npm")
    if command is None:
        pytest.skip("npm is not installed, and so nothing is packed")
    quiet = ["--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]
    return subprocess.run([command, *words, *quiet], cwd=cwd, capture_output=True, text=True, timeout=600)


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """The packed file."""
    folder = tmp_path_factory.mktemp("packed")
    done = npm("pack", "--pack-destination", folder, cwd=FOLDER)
    assert done.returncode == 0, done.stderr
    (file,) = folder.iterdir()
    return file


@pytest.fixture(scope="module")
def project(packed, tmp_path_factory):
    """The folder of a project that has installed the packed file."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "package.json").write_text(json.dumps({"name": "project", "type": "module"}))
    done = npm("install", "--offline", packed, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_it_has_the_version_and_license_of_the_python_package():
    assert PACKAGE["version"] == sklearn_dprank.__version__
    assert PACKAGE["license"] == "BSD-3-Clause"
    assert (FOLDER / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert not {name for name in PACKAGE if "ependencies" in name or name == "scripts"}


@pytest.mark.slow
def test_it_packs_the_client_of_the_wheel_and_its_types(packed):
    with tarfile.open(packed) as archive:
        files = {Path(member.name).name: archive.extractfile(member).read() for member in archive}
    assert set(files) == {"LICENSE", "README.md", "device.d.ts", "device.js", "package.json"}
    assert all(text == (FOLDER / name).read_bytes() for name, text in files.items())
    assert packed.name == f"sklearn-dprank-device-{sklearn_dprank.__version__}.tgz"


def said_by_node(project, code, *words):
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed, and so nothing runs JavaScript without a browser")
    command = [node, "--input-type=module", "-e", code, *words]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_its_types_are_those_of_the_client(project, tmp_path):
    """The same names in node and for tsc, and correct and wrong calls."""
    if npm("install", "--no-save", "--prefix", tmp_path, TYPESCRIPT, cwd=tmp_path).returncode:
        pytest.skip(f"the npm registry does not give {TYPESCRIPT}")
    protocol = LDPPairwise(epsilon=2.0).protocol(NAMES)
    names = said_by_node(project, SAY_NAMES, json.dumps(protocol))
    assert all(names)
    use = USE % tuple(" | ".join(map(json.dumps, group)) for group in names)
    (project / "use.ts").write_text(use)
    (project / "tsconfig.json").write_text(json.dumps({"compilerOptions": OPTIONS, "files": ["use.ts"]}))
    compiler = [shutil.which("node"), tmp_path / "node_modules" / "typescript" / "bin" / "tsc", "-p", project]
    done = subprocess.run(compiler, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.slow
def test_a_page_imports_the_packed_file(project, browser):
    """The code of its README, in Chromium: the curator accepts the report."""
    code = (FOLDER / "README.md").read_text().split("```")[1].removeprefix("js\n")
    entry = "/node_modules/sklearn-dprank-device/" + PACKAGE["exports"]["."]["default"]
    imports = json.dumps({"imports": {PACKAGE["name"]: entry}})
    (project / "index.html").write_text(
        f'<script type="importmap">{imports}</script>\n<script type="module">{code}\ndocument.title = "sent";</script>'
    )
    estimator, sent, wrong = LDPPairwise(epsilon=2.0), [], []
    asked = {"poll": "0" * 32, "protocol": json.dumps(estimator.protocol(NAMES))}

    def serve(route):
        path = urlsplit(route.request.url).path
        if path == "/protocol":
            route.fulfill(json=asked)
        elif path == "/reports":
            sent.append(json.loads(route.request.post_data))
            route.fulfill(status=204)
        else:
            route.fulfill(path=project / path.lstrip("/"))

    page = browser.new_page()
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.route("**/*", serve)
    page.goto("http://127.0.0.1:8000/index.html")
    page.wait_for_function("document.title === 'sent'")
    assert wrong == [] and [set(one) for one in sent] == [{"ticket", "report"}]
    assert estimator.fit_reports([sent[0]["report"]], items=NAMES).reports_accepted_ == 1
