#!/usr/bin/env python3
"""Draws docs/images/dataflow.txt: diagram.py TEXT SVG. The first four boxes are a chain, the others
hang on the last of the chain's recordings: tools that replay it."""
import sys
from xml.sax.saxutils import escape

WIDTH, LINE, PAD, GAP = 275, 17, 12, 48
STYLE = """text{font:13px Helvetica,Arial,sans-serif;fill:#1f2328}
.t{font-weight:bold;font-size:14px}.c{font-family:Menlo,Consolas,monospace;font-size:12px;fill:#0550ae}
.n{fill:#57606a}rect{fill:#f6f8fa;stroke:#8c959f;rx:6}rect.b{fill:#fff}path{stroke:#57606a;fill:none;stroke-width:1.5}"""


def read(path):
    """(kind, title, lines) of the boxes and the arrows."""
    parts = []
    for line in open(path).read().splitlines():
        if line.startswith("["):
            parts.append(("box", line[1:-1], []))
        elif line.startswith("> "):
            parts.append(("arrow", line[2:], []))
        elif line and not line.startswith("#"):
            parts[-1][2].append(line)
    return parts


def draw_text(x, y, text, style, anchor="start"):
    return f'<text x="{x}" y="{y}" class="{style}" text-anchor="{anchor}">{escape(text)}</text>'


def draw_box(x, y, title, lines):
    height = PAD * 2 + LINE * (len(lines) + 1) - 4
    out = [f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{height}"/>', draw_text(x + PAD, y + PAD + 11, title, "t")]
    out += [draw_text(x + PAD, y + PAD + 11 + LINE * (i + 1), line, "") for i, line in enumerate(lines)]
    return out, height


def draw_arrow(x1, y1, x2, y2):
    return f'<path d="M{x1} {y1}L{x2} {y2}" marker-end="url(#a)"/>'


def draw(parts):
    """Three boxes on the left, one below the other; the tools of a recording on the right."""
    out, y, left = [], 10, 10
    for index, (kind, title, lines) in enumerate(parts[:5]):
        if kind == "box":
            box, height = draw_box(left, y, title, lines)
            out += box
            bottom = y + height
            middle = y + height // 2
        else:
            out.append(draw_arrow(left + 24, bottom, left + 24, bottom + GAP - 4))
            out.append(draw_text(left + 38, bottom + 20, title, "c"))
            out.append(draw_text(left + 38, bottom + 36, " ".join(lines), "n"))
            y = bottom + GAP
    total, right, y = bottom, left + WIDTH + 320, 10
    for arrow, box in zip(parts[5::2], parts[6::2]):
        drawn, height = draw_box(right, y, box[1], box[2])
        out += drawn
        centre = y + height // 2
        out.append(f'<path d="M{left + WIDTH} {middle}C{left + WIDTH + 60} {middle} {left + WIDTH + 20} {centre} '
                   f'{left + WIDTH + 64} {centre}L{right - 5} {centre}" marker-end="url(#a)"/>')
        out.append(draw_text(left + WIDTH + 70, centre - 8, arrow[1], "c"))
        for i, line in enumerate(arrow[2]):
            out.append(draw_text(left + WIDTH + 70, centre + 18 + LINE * i, line, "n"))
        y += height + GAP + 30
        total = max(total, y - GAP - 30)
    size = (right + WIDTH + 10, total + 10)
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}" width="{size[0]}" '
            f'height="{size[1]}">', f"<style>{STYLE}</style>",
            '<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            '<path d="M0 0L8 4L0 8z" style="fill:#57606a;stroke:none"/></marker></defs>',
            f'<rect class="b" width="{size[0]}" height="{size[1]}" style="stroke:none"/>')
    return "\n".join([*head, *out, "</svg>\n"])


def main():
    with open(sys.argv[2], "w") as file:
        file.write(draw(read(sys.argv[1])))


main()
