"""resources.py REPLAY FOLDER: compiles every recorded kernel for its GPU and prints
what an AMDGPU code object says of it."""
import glob
import json
import subprocess
import sys

replay, folder = sys.argv[1:]
lines = []
for path in sorted(glob.glob(folder + "/*.json")):
    out = subprocess.run(
        replay.split() + [path, "--no-execute"], stdout=subprocess.PIPE
    ).stdout
    report = json.loads(out)
    r = report["Result"]["resources"]
    lines.append(
        "%s: vgpr %s sgpr %s agpr %s lds %s scratch %s spills %s %s"
        % (
            json.load(open(path))["KernelName"],
            r["registers"],
            r["scalar_registers"],
            r["accum_registers"],
            r["shared"],
            r["local"],
            r["spill_stores"],
            r["scalar_spills"],
        )
    )
print("\n".join(sorted(lines)))
