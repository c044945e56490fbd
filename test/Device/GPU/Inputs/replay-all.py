"""replay-all.py FOLDER REPLAY...: replays every launch of a recording with the command
REPLAY, and prints the kernel, the device and the verdict of each."""

import glob
import json
import os
import subprocess
import sys

folder, command = sys.argv[1], sys.argv[2:]
failed = False
for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
    with open(path) as file:
        kernel = json.load(file)
    for launch in sorted(kernel["instances"]):
        done = subprocess.run(
            command + [path, "--record-id=" + launch], stdout=subprocess.PIPE
        )
        failed |= done.returncode != 0
        if not done.stdout:
            continue
        result = json.loads(done.stdout)["Result"]
        name = kernel["DemangledName"].split("(")[0].replace("void ", "")
        print(name, result["device"], result["verdict"], result["error"] or "")
sys.exit(failed)
