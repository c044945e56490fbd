"""controls-ptxas.py VERSION ARGUMENTS...: a ptxas of a CUDA toolkit, whose controls files are "ACF" and options of ptxas.
It writes the file's name into the code, as NVIDIA's."""
import subprocess
import sys

version, arguments = sys.argv[1], sys.argv[2:]
if arguments == ["--version"]:
    print("ptxas: NVIDIA (R) Ptx optimizing assembler\nrelease %s, V%s" % (version, version))
    sys.exit()
name = None
if "--apply-controls" in arguments:
    at = arguments.index("--apply-controls")
    name = arguments[at + 1]
    with open(name) as file:
        words = file.read().split()
    if not words or words[0] != "ACF":
        print("ptxas fatal   : Invalid compiler controls file", file=sys.stderr)
        sys.exit(255)
    arguments[at : at + 2] = words[1:]
code = subprocess.call(["ptxas"] + arguments)
if code == 0 and name:
    with open(arguments[arguments.index("--output-file") + 1], "ab") as cubin:
        cubin.write(name.encode())
sys.exit(code)
