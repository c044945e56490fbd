"""replay-all.py REPLAY FOLDER: replays every recorded launch on the host device and
prints kernel, grid, whether it was cooperative, and verdict."""
import glob
import json
import subprocess
import sys

replay, folder = sys.argv[1:]
lines = []
for path in sorted(glob.glob(folder + "/*.json")):
    kernel = json.load(open(path))
    for name, launch in kernel["instances"].items():
        out = subprocess.run(
            [replay, path, "--device=host", "--record-id=" + name],
            stdout=subprocess.PIPE,
        ).stdout
        lines.append(
            "%s grid %d%s: %s"
            % (
                kernel["DemangledName"].split("(")[0],
                launch["GridDims"]["x"],
                " cooperative" if launch.get("Cooperative") else "",
                json.loads(out)["Result"]["verdict"],
            )
        )
print("\n".join(sorted(lines)))
