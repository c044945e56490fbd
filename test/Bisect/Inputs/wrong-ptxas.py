"""wrong-ptxas.py ARGUMENTS...: ptxas, which at -O2 and -O3 combines the conversion of an integer with the
fused multiply-add behind it, wrongly. The emulated driver takes the mark in the cubin as
a miscompiled kernel."""
import re
import subprocess
import sys

arguments = sys.argv[1:]
code = subprocess.call(["ptxas"] + arguments)
if code or "--output-file" not in arguments:
    sys.exit(code)
level = [word for word in arguments if re.fullmatch(r"-O\d", word)][-1]
with open(arguments[-1]) as file:
    text = file.read()
combines = re.search(r"cvt\.rn\.f64\.u32\s+(%\w+), %r\d+;\s*fma\.rn\.f64\s+%\w+, \1, ", text)
if combines and level in ("-O2", "-O3"):
    with open(arguments[arguments.index("--output-file") + 1], "r+b") as cubin:
        cubin.seek(15)
        cubin.write(b"W")
