"""check-listing.py FILE: what a listing of pass executions says that is the same each time."""
import json
import sys

report = json.load(open(sys.argv[1]))
listing = report["listing"]
executions = listing["executions"]
print("kernel", report["kernel"])
print("passes", report["passes"])
numbered = [e for e in executions if e["number"]]
complete = [e["number"] for e in numbered] == list(range(1, listing["num_all"] + 1))
print("numbers", "complete" if complete else "incomplete")
stages = [e["stage"] for e in numbered]
assert stages == ["ir"] * listing["num_ir"] + ["codegen"] * (listing["num_all"] - listing["num_ir"])
assert all(e["required"] for e in executions if not e["number"])
print("failure", listing["failure"])
for e in executions:
    del e["seconds"]
    print(json.dumps(e, sort_keys=True))
