"""Print the lowest version that `pyproject.toml` declares of each dependency, as constraints for pip.

What holds for users is what was tested only if a minimum is stated for every dependency, in every extra and for the
build, once: anything else is refused here.
"""

import re
import sys
import tomllib
from pathlib import Path


def requirements(pyproject):
    """Return every requirement that the file states: of the build, of the package and of its extras."""
    project = pyproject["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    return pyproject["build-system"]["requires"] + project["dependencies"] + extras


def lowest(lines, itself):
    """Return the declared minimum of each dependency but the package itself, which names its own extras."""
    found = {}
    for line in lines:
        match = re.fullmatch(r"([A-Za-z0-9._-]+)(?:\[[a-z,]+\])?(?:>=([0-9.]+))?", line)
        name, version = match.groups() if match else (None, None)
        if name == itself:
            continue
        if not version or found.setdefault(name, version) != version:
            sys.exit(f"pyproject.toml: {line!r} must read 'name>=version', with one version wherever the name occurs")
    return found


if __name__ == "__main__":
    stated = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text())
    for name, version in lowest(requirements(stated), stated["project"]["name"]).items():
        print(f"{name}=={version}")
