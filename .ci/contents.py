"""Compare what was built with what is tracked: the wheel holds the package and nothing else, the sdist all files.

python .ci/contents.py FOLDER    where `python -m build` wrote both
"""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
ADDED = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}  # of the wheel's own folder


def tracked():
    """Return the files of the repository, as text."""
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines())


def refuse(kind, found, expected):
    """Exit unless both sets are the same."""
    if found != expected:
        sys.exit(f"{kind}: too much: {sorted(found - expected)}; missing: {sorted(expected - found)}")


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    files = tracked()
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
    own = {name.partition(".dist-info/")[2] for name in inside if ".dist-info/" in name}
    refuse("wheel", own, ADDED)
    package = {name for name in files if name.startswith("sklearn_dprank/")}
    refuse("wheel", {name for name in inside if ".dist-info/" not in name}, package)
    with tarfile.open(sdist) as archive:
        packed = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    refuse("sdist", packed, files | {"PKG-INFO"})
    print(f"{wheel.name}: {len(inside)} files; {sdist.name}: {len(packed)} files")
