import pickle
import sys

import llvm_mneme as mneme

launch = mneme.open(sys.argv[1])["twice"].only()
report = mneme.assess(launch, device="host")
print(report["assessment"]["caught"] > 0, report["power"]["vacuous"])
plugin = ["--load-pass-plugin=" + sys.argv[2]]
with mneme.Executor(launch, device="host", options=plugin) as executor:
    wrong = executor.evaluate(passes="planted<O2;wrong@_Z5twicePii#5>")
    print(wrong.failure)
# On the device and with the options of its executor, which is closed.
found = mneme.bisect(pickle.loads(pickle.dumps(wrong)))
print(found.exit_code, [c["pass"] for c in found.culprits], "<table>" in found._repr_html_())
print(found)
print("planted<O2" in found.commands["bad"], "xor i32" in found.diff)
# A kernel: its first launch.
nothing = mneme.bisect(launch.kernel, {"passes": "default<O2>"}, device="host")
print(nothing.exit_code, nothing.culprits, repr(nothing.diff))
for action in (
    lambda: mneme.bisect(launch, {"passes": "nonsense"}, device="host"),
    lambda: mneme.bisect(wrong, {"passes": "x"}),
    lambda: mneme.bisect(wrong, device="nonsense"),
    lambda: mneme.bisect(mneme.open(sys.argv[1])),
    lambda: mneme.run_tool("nonsense"),
):
    try:
        action()
    except mneme.MnemeError as error:
        print(type(error).__name__, str(error).splitlines()[0])
