# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds the suite's tools and checks that they are of this package's version."""

from __future__ import annotations

import os
import sys
from typing import NamedTuple, Optional

from ._tables import PROTOCOL, VERSION
from .errors import SuiteError

_TOOL = "llvm-mneme-replay"


class Suite(NamedTuple):
    """The tools of one build or installation."""

    folder: str

    def tool(self, name: str) -> str:
        """Returns the path of a tool: ``"llvm-mneme-tune"``, or ``"tune"``."""
        if not name.startswith("llvm-mneme-") and not name.startswith("mneme-"):
            name = f"llvm-mneme-{name}"
        path = os.path.join(self.folder, name)
        if not os.access(path, os.X_OK):
            raise SuiteError(f"the suite in {self.folder!r} has no {name}")
        return path


def _folders_of_wheel() -> list[str]:
    """Returns the folder of the tools that were installed by the same wheel as this file, in a list."""
    from importlib import metadata

    try:
        files = [os.path.realpath(str(f.locate())) for f in metadata.files("llvm-mneme") or []]
    except metadata.PackageNotFoundError:
        return []
    if os.path.realpath(__file__) not in files:
        return []
    return [os.path.dirname(f) for f in files if os.path.basename(f) == _TOOL]


def _places() -> list[tuple[str, str]]:
    """Returns the folders to search, each with its origin."""
    from shutil import which

    places = []
    root = os.environ.get("MNEME_ROOT")
    if root:
        # A wrong MNEME_ROOT must not be hidden by another suite.
        return [(os.path.join(root, "bin"), "MNEME_ROOT"), (root, "MNEME_ROOT")]
    places += [(folder, "the wheel") for folder in _folders_of_wheel()]
    found = which(_TOOL)
    if found:
        places.append((os.path.dirname(os.path.realpath(found)), "PATH"))
    prefixes = [sys.prefix, sys.base_prefix, "/usr/local", "/usr"]
    places += [(os.path.join(prefix, "bin"), "an installation") for prefix in prefixes]
    # Where CMake's find_package(Mneme) looks.
    for variable in ("Mneme_ROOT", "Mneme_DIR", "CMAKE_PREFIX_PATH"):
        for path in os.environ.get(variable, "").split(os.pathsep):
            if path:
                at = path.partition(os.sep + "lib" + os.sep)[0] if variable == "Mneme_DIR" else path
                places.append((os.path.join(at, "bin"), variable))
    # This package in a source tree, with a build folder beside it.
    here = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if os.path.exists(os.path.join(here, "CMakePresets.json")):
        places.append((os.path.join(here, "build", "bin"), "the source tree"))
    return places


_cached: dict[Optional[str], Suite] = {}


def find_suite() -> Suite:
    """Returns the suite: that of ``$MNEME_ROOT`` if set, else of this wheel, of ``PATH``, or an installed or built one.

    Raises :class:`SuiteError` if there is none. Its version is checked when a server starts.
    """
    key = f"{os.environ.get('MNEME_ROOT')}:{os.environ.get('PATH')}"
    if key in _cached:
        return _cached[key]
    for folder, _ in _places():
        if os.access(os.path.join(folder, _TOOL), os.X_OK):
            _cached[key] = Suite(folder)
            return _cached[key]
    root = os.environ.get("MNEME_ROOT")
    where = f"MNEME_ROOT={root}" if root else "PATH"
    raise SuiteError(
        f"llvm-mneme {VERSION} needs the Mneme suite {VERSION}, and there is no {_TOOL} in {where}: "
        f"set MNEME_ROOT to the folder where Mneme is built or installed"
    )


def version_of(tool: str) -> str:
    """Returns the version that a tool prints, or "unknown"."""
    import re
    import subprocess

    try:
        text = subprocess.run([tool, "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30).stdout
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    found = re.search(rb"Mneme version (\S+?),", text)
    return found.group(1).decode() if found else "unknown"


def wrong_version(tool: str, version: str, protocol: Optional[int] = None) -> SuiteError:
    """Returns the error about a suite of another version, which names both."""
    speaks = "" if protocol is None else f" and speaks version {protocol} of the protocol instead of {PROTOCOL}"
    return SuiteError(
        f"llvm-mneme is {VERSION}, but {tool!r} is Mneme {version}{speaks}: "
        f"install the same version of both, or set MNEME_ROOT to a suite of version {VERSION}"
    )
