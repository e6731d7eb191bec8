"""Gives the package the version of the project, which only CMakeLists.txt states."""

import pathlib
import re

import setuptools

project = pathlib.Path(__file__).resolve().parent.parent / "CMakeLists.txt"
found = re.search(r"^project\(assay VERSION ([0-9.]+)", project.read_text(), re.MULTILINE) if project.is_file() else None
if found is None:
    raise SystemExit(f"{project} does not state the version; install the folder python of a checkout of assay")
setuptools.setup(version=found[1])
