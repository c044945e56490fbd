"""Tables in reStructuredText."""


def table(head, rows):
    """A simple table, without a newline at the end."""
    # An empty first cell would continue the row above.
    lines = [head] + [[str(c) if c not in ("", None) else "-" for c in row] for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    rule = "  ".join("=" * w for w in widths)
    text = ["  ".join(c.ljust(w) for c, w in zip(line, widths)).rstrip() for line in lines]
    return "\n".join([rule, text[0], rule] + text[1:] + [rule])
