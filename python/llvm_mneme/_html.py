# Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
# See https://llvm.org/LICENSE.txt for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""HTML of notebooks: small tables without scripts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

# Notebooks style tables themselves; long texts must not push the page apart.
_CELL = "text-align:left;vertical-align:top;max-width:48em;overflow-wrap:anywhere"


def table(head: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """Returns a table. Cells are escaped."""
    parts = ["<table>"]
    if caption:
        parts.append(f"<caption style='text-align:left'>{escape(caption)}</caption>")
    if any(head):
        parts.append("<thead><tr>" + "".join(f"<th style='{_CELL}'>{escape(h)}</th>" for h in head) + "</tr></thead>")
    parts.append("<tbody>")
    for row in rows:
        parts.append("<tr>" + "".join(f"<td style='{_CELL}'>{escape(str(cell))}</td>" for cell in row) + "</tr>")
    parts.append("</tbody></table>")
    return "".join(parts)


def size(count: float) -> str:
    """Returns bytes for people."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            break
        count /= 1024
    return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
