"""same-code.py KERNELS FOLDER: whether what list-kernels --static-hash found in files is
what was recorded."""
import json
import os
import sys

kernels = json.load(open(sys.argv[1]))
hashes = {k["StaticHash"] for k in kernels if "StaticHash" in k}
recorded = {f[:-5] for f in os.listdir(sys.argv[2]) if f.endswith(".json")}
print(
    "%d kernels, %d with code, %d recordings, %s of them"
    % (
        len(kernels),
        len(hashes),
        len(recorded),
        "all" if recorded <= hashes else len(recorded & hashes),
    )
)
