"""record-id.py FOLDER KEY: prints the id of a recorded launch that has the key."""
import glob
import json
import sys

folder, key = sys.argv[1:]
for path in sorted(glob.glob(folder + "/*.json")):
    for name, launch in json.load(open(path))["instances"].items():
        if key in launch:
            print(name)
            sys.exit()
