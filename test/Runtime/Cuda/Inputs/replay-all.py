"""replay-all.py REPLAY FOLDER [DEVICE]: replays every recorded launch (on the host
device) and prints kernel, grid, whether it was cooperative, and verdict. REPLAY may
be a command with arguments."""
import glob
import json
import subprocess
import sys

replay, folder = sys.argv[1:3]
device = sys.argv[3] if len(sys.argv) > 3 else "host"
lines = []
for path in sorted(glob.glob(folder + "/*.json")):
    kernel = json.load(open(path))
    for name, launch in kernel["instances"].items():
        run = subprocess.run(
            replay.split() + [path, "--device=" + device, "--record-id=" + name],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
        )
        lines.append(
            "%s grid %d%s: %s"
            % (
                kernel["DemangledName"].split("(")[0],
                launch["GridDims"]["x"],
                " cooperative" if launch.get("Cooperative") else "",
                json.loads(run.stdout)["Result"]["verdict"]
                if run.stdout
                else run.stderr.strip().splitlines()[-1],
            )
        )
print("\n".join(sorted(lines)))
