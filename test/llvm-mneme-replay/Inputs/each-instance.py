"""each-instance.py REPLAY FOLDER: replays every launch of the folder's only kernel and
prints the verdicts."""
import glob
import json
import subprocess
import sys

replay, folder = sys.argv[1:]
(path,) = glob.glob(folder + "/*.json")
for launch in json.load(open(path))["instances"]:
    out = subprocess.run([replay, path, "--record-id=" + launch], stdout=subprocess.PIPE, check=True).stdout
    print(json.loads(out)["Result"]["verdict"])
