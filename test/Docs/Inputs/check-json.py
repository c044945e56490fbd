"""check-json.py UTILS FILE...: utils/schemas.py check for each file, whose name is SCHEMA.NUMBER.json, in one process."""
import sys

utils, *files = sys.argv[1:]
sys.path.insert(0, utils)
import schemas

errors = [error for file in files for error in schemas.check(file.split(".")[0], [file])]
if errors:
    sys.exit("\n".join(errors))
print("%d files fit" % len(files))
