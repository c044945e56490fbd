"""What scripts that run programs on a GPU have in common."""
import re

# A line that says how long something took, or how fast it was: it differs from run to run.
TIMES = re.compile(r"\b\d[\d.e+-]*\s*[(\[]?(s|ms|us|ns|sec(ond)?s?|milliseconds?|[GMT]?FLOPS|[GMT]i?B(/s|ps)?)\b|time|speed|bandwidth|rate",
                   re.I)


def failed_verdict(out):
    """What a replay came to that printed no result."""
    return "no IR" if "was recorded without IR" in out else "none"


def read_list(path):
    """Lines of "name [kernel]: words"."""
    rows = []
    for line in open(path):
        if line.strip() and not line.startswith("#"):
            name, _, words = line.partition(":")
            rows.append((name.split()[0], words.strip()))
    return rows
