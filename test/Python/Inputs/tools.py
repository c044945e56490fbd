import sys

import llvm_mneme as mneme

launch = mneme.open(sys.argv[1])["twice"].only()
report = mneme.assess(launch, device="host")
print(report["assessment"]["caught"] > 0, report["power"]["vacuous"])
plugin = ["--load-pass-plugin=" + sys.argv[2]]
with mneme.Executor(launch, device="host", options=plugin) as executor:
    wrong = executor.evaluate(passes="planted<O2;wrong@_Z5twicePii#5>")
    print(wrong.failure)
found = mneme.bisect(wrong, device="host", options=plugin)
print(found.exit_code, "fault-wrong" in str(found), "<table>" in found._repr_html_())
nothing = mneme.bisect(launch, {"passes": "default<O2>"}, device="host")
print(nothing.exit_code)
for action in (
    lambda: mneme.bisect(launch, {"passes": "nonsense"}, device="host"),
    lambda: mneme.bisect(wrong, {"passes": "x"}),
    lambda: mneme.run_tool("nonsense"),
):
    try:
        action()
    except mneme.MnemeError as error:
        print(type(error).__name__, str(error).splitlines()[0])
