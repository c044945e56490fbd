#!/usr/bin/env python3
"""Tables of what gpu-test.sh has measured, as reStructuredText.

    utils/gpu-report.py RESULTS                       prints all
    utils/gpu-report.py RESULTS --update FILE.rst...  replaces them in documents

RESULTS is the folder that gpu-test.sh leaves (hecbench.json, examples.json, bench.json,
tune.json, bisect.json). A document has a table between the lines ".. gpu-report: NAME" and ".. gpu-report: end". What RESULTS has no
figures for stays as it is.
"""
import argparse
import json
import os
import re
import statistics
import sys

import rst


def number(value, form="%.2f"):
    return "-" if value is None else form % value


def short(kernel):
    return re.sub(r"^void ", "", kernel.split("(")[0])


def verified(kernels, device=None):
    found = [r for k in kernels for r in k["replays"] if device in (None, r["device"])]
    return sum(r["verdict"].startswith("Match") for r in found), len(found)


def identical(kernels):
    codes = [k["code"] for k in kernels if "code" in k]
    return sum(bool(c.get("identical")) for c in codes), len(codes)


def spread(values, form):
    return "%s (%s to %s)" % tuple(form % f(values) for f in (statistics.median, min, max))


def programs(results):
    rows, ratios, codes, added = [], [], [], []
    for row in results["hecbench"]:
        replays = [(r["nanoseconds"], k, r) for k in row["kernels"] for r in k["replays"] if r.get("nanoseconds")]
        for ns, k, r in replays:
            if k.get("application_nanoseconds"):
                ratios.append(ns / k["application_nanoseconds"])
            value = ((r.get("baseline") or {}).get("speedup") or {}).get("value")
            if value:
                codes.append(value)
        ns, kernel, _ = max(replays, key=lambda r: r[0], default=(None, {}, None))
        seen = kernel.get("application_nanoseconds")
        plain, recorded = row.get("plain_seconds"), row.get("recorded_seconds")
        if plain and recorded:
            added.append(recorded - plain)
        rows.append([row["program"], len(row["kernels"]), sum(k["instances"] for k in row["kernels"]),
                     number(row.get("raw_bytes", 0) / 2**20, "%.1f"), number(plain), number(recorded),
                     "%d/%d" % verified(row["kernels"]), "%d/%d" % identical(row["kernels"]),
                     number(ns and ns / 1e3, "%.1f"), number(seen and seen / 1e3, "%.1f"),
                     number(ns / seen if ns and seen else None)])
    kernels = [k for row in results["hecbench"] for k in row["kernels"]]
    text = ["%d programs with %d kernels: %d of %d replays verified, %d of %d kernels identical to the application's"
            % (len(rows), len(kernels), *verified(kernels), *identical(kernels)),
            "(:doc:`Fidelity` says what counts)."]
    if added:
        text.append("Recording adds %s s to a program." % spread(added, "%.2f"))
    if ratios:
        text.append("Time of a replay, by the time of the same kernel in the application: %s." % spread(ratios, "%.2f"))
    if codes:
        text.append("The application's own machine code, measured in the replay, takes %s times as long as ``default<O3>``."
                    % spread(codes, "%.3f"))
    head = ["program", "kernels", "instances", "MiB", "plain, s", "recorded, s", "verified", "identical", "replay, us",
            "app, us", "ratio"]
    return "\n".join(text) + "\n\n" + rst.table(head, rows)


def memory(results):
    devices = [d for d in results["bench"]["memory"] if "error" not in d]
    rows = []
    for size in devices[0]["sizes"]:
        for case in size["cases"]:
            row = ["%d MiB" % (size["bytes"] >> 20), case["name"]]
            for d in devices:
                other = next(c for s in d["sizes"] if s["bytes"] == size["bytes"] for c in s["cases"]
                             if c["name"] == case["name"])
                row += ["%.0f" % (other["bytes_per_second"] / 1e9), "%.2f" % other["of_copy"]]
            rows.append(row)
    head = ["size", "what"]
    for d in devices:
        head += [d["backend"] + ", GB/s", "of copy"]
    return rst.table(head, rows)


STEPS = ["specialize", "optimize", "codegen", "assemble", "load", "restore", "run", "compare"]


def evaluations(results):
    rows, once, rates, kernels = [], [], {}, {}
    for row in results["bench"]["evaluations"]:
        if "error" in row:
            continue
        name = short(row["kernel"])
        kernels[name] = row["nanoseconds"] / 1e3
        once.append([name, row["device"]] + ["%.1f" % row["once_milliseconds"][k]
                                             for k in ("open", "parse", "prepare", "read")])
        for case in row["cases"]:
            rates.setdefault((name, case["name"]), {})[row["device"].split(":")[0]] = case["per_second"]
            rows.append([name, row["device"], case["name"], "%.1f" % case["per_second"]]
                        + ["%.2f" % case["milliseconds"].get(k, 0) for k in STEPS])
    ratios = [r["offload"] / r["cuda"] for r in rates.values() if len(r) == 2]
    text = "Kernels: " + ", ".join("``%s`` %.1f us" % k for k in kernels.items()) + "."
    if ratios:
        text += "\nEvaluations a second through liboffload, by those through the driver: %s." % spread(ratios, "%.2f")
    return (text + "\n\n" + rst.table(["kernel", "device", "case", "per second"] + STEPS, rows)
            + "\n\nOnce for a process and a recording, milliseconds:\n\n"
            + rst.table(["kernel", "device", "open", "parse", "prepare", "read"], once))


def noise(results):
    rows = []
    for row in results["bench"]["noise"]:
        for c in row["caches"]:
            rows.append([short(row["kernel"]), c["cache"], "%.2f" % (c["nanoseconds"] / 1e3),
                         "%.3f %%" % (c["sd_of_log_ratio"] * 100), c["pairs"], "%.0f" % c["samples_of_a_median"],
                         "%.1f %%" % (100 * c["significant_pairs"] / c["pairs"]), c["timer"]])
    return rst.table(["kernel", "cache", "time, us", "sd", "pairs", "samples", "called different", "timer"], rows)


def launches(results):
    found = results["bench"]["launches"]
    base = found["ns_per_launch"]["plain"]
    text = rst.table(["launch", "ns", "more than plain"],
                 [[name, "%.0f" % ns, "%+.0f" % (ns - base)] for name, ns in found["ns_per_launch"].items()])
    rows, notes = [], []
    for row in found["applications"]:
        if "error" in row:
            continue
        rows += [[row["name"], case, "%.2f" % s, "%+.2f" % (s - row["seconds"]["plain"]), "%+.1f %%" % row["percent"][case]]
                 for case, s in row["seconds"].items()]
        if "copy_seconds" in row:
            notes.append("``%s``: a recording fetches %d MiB, which a plain copy does in %.3f s (%.1f GB/s).\nBeyond that, one "
                         "recorded launch costs the whole application %+.1f %%; without the\nrecorder's start, %+.1f %%."
                         % (row["name"], row["bytes"] >> 20, row["copy_seconds"], row["copy_bytes_per_second"] / 1e9,
                            row["percent_beyond_copy"], row["percent_beyond_copy_and_start"]))
    return "\n\n".join([text, rst.table(["application", "case", "seconds", "more", "of plain"], rows)] + notes)


def coverage(results):
    rows = [[row["program"], row["arguments"] or "-", "no" if row["problems"] else "yes",
             sum(k["instances"] > 0 for k in row["kernels"]), "%d/%d" % verified(row["kernels"]),
             "%d/%d" % identical(row["kernels"])] for row in results["hecbench"]]
    lines = []
    for device in sorted({r["device"] for p in results.get("examples", []) for k in p["kernels"] for r in k["replays"]}):
        lines.append("``%s`` %d of %d" % (device, *verified([k for p in results["examples"] for k in p["kernels"]], device)))
    text = rst.table(["program", "arguments", "runs", "kernels", "verified", "identical"], rows)
    if lines:
        text += ("\n\nThe programs in ``examples/``, recorded on the GPU and replayed under their own pipeline, O1 and O3; "
                 "verified:\n" + ", ".join(lines) + ".")
    return text


def config(values):
    """What a configuration sets, short."""
    words = ["%s=%s" % (k, v) for k, v in sorted((values or {}).items()) if v is not False]
    return "``" + " ".join(words) + "``" if words else "as recorded"


def idle(study):
    runners = study["farm"]["runners"]
    return "%.0f %%" % (100 * statistics.mean(r["idle_share"] for r in runners)) if runners else "-"


def tuned(results, part):
    """What gpu-tune.py found in a part; nothing is a part that was not run."""
    rows = results["tune"][part]
    if not rows:
        raise KeyError(part)
    return rows


def tuning_rates(results):
    rows = []
    for row in tuned(results, "rates"):
        study, farm = row["study"], row["study"]["farm"]
        ceiling = row["ceiling"]["per_second"]
        seconds = study["outcome"]["search_seconds"]
        rows.append([row["program"], short(row["kernel"]), study["outcome"]["trials"], study["outcome"]["failed"],
                     "%.1f" % study["rate"], "%.1f" % ceiling, "%.2f" % (study["rate"] / ceiling),
                     "%.1f" % (farm["runs"] / seconds), "%d/%d/%d" % (farm["same_ir"], farm["same_assembly"], farm["same_code"]),
                     idle(study)])
    return rst.table(["program", "kernel", "trials", "failed", "per second", "ceiling", "ratio", "runs per second",
                      "same IR/PTX/code", "GPU idle"], rows)


def tuning_launches(results):
    return rst.table(["program", "trials", "per second", "GPU idle"],
                     [[row["program"], row["study"]["outcome"]["trials"], "%.0f" % row["study"]["rate"], idle(row["study"])]
                      for row in tuned(results, "launches")])


def tuning_speedups(results):
    rows, survivors, candidates = [], 0, 0
    for row in tuned(results, "speedups"):
        outcome = row["study"]["outcome"]
        test = outcome["final_test"]
        survivors += test["survivors"]
        candidates += len(test["candidates"])
        best = test["confirmed"] or {}
        speedup = best.get("speedup")
        raw = max((c["raw_speedup"] for c in test["candidates"] if c.get("raw_speedup")), default=None)
        explanation = outcome["explanation"] if test["significant"] else None
        # What follows from other keys is no change of its own.
        why = {c["key"]: c["minimal"] for c in (explanation or {}).get("changes", []) if not c.get("from")}
        rows.append([row["program"], short(row["kernel"]), outcome["trials"], "%.1f" % row["study"]["rate"],
                     "%.2f" % (outcome["instances"][0]["metrics"]["time"] / 1e3), number(raw, "%.3f"),
                     "%.3f [%.3f, %.3f]" % (speedup["value"], speedup["low"], speedup["high"]) if test["significant"]
                     else "no difference", "%d/%d" % (test["survivors"], len(test["candidates"])), config(why) if explanation else "-"])
    text = ("Of the %d configurations that searches believed to be the best, %d were significantly faster than the\n"
            "application's own code in the re-test (95 %% CI above 1)." % (candidates, survivors))
    return rst.table(["program", "kernel", "trials", "per second", "baseline, us", "raw", "re-tested", "survive",
                      "smallest change"], rows) + "\n\n" + text


def tuning_gpus(results):
    first, rows = {}, []
    for row in tuned(results, "scaling"):
        base = first.setdefault(row["what"], row["study"]["rate"])
        rows.append([row["what"], row["gpus"], "%.1f" % row["study"]["rate"], "%.2f" % (row["study"]["rate"] / base),
                     idle(row["study"])])
    return rst.table(["what", "GPUs", "per second", "of one", "GPUs idle"], sorted(rows))


def bisections(results):
    rows = []
    for row in results["bisect"]["planted"] + results["bisect"]["programs"]:
        found = [spec.split("@")[0] for spec in row.get("found", [])]
        counts = row.get("counts", {})
        rows.append([row["name"], "%.1f" % row["seconds"], row.get("executions") or "-", counts.get("steps", "-"),
                     counts.get("compilations", "-"), counts.get("launches", "-"),
                     row.get("error", "").split("\n")[0] or
                     ("%d passes" % len(found) if len(found) > 2 else ", ".join(found) or "nothing"),
                     (row.get("half") or "-").replace("back_end", "code generator")])
    text = rst.table(["fault, or O3 against O1", "seconds", "executions", "steps", "compilations", "launches", "found",
                      "half"], rows)
    for row in results["bisect"]["reduce"]:
        report = row["report"]
        text += "\n\nReduction of a planted miscompile: %d instructions and %d KiB to %d and %d KiB, %d tests, %.0f s." % (
            report["before"]["instructions"], report["before"]["buffer_bytes"] >> 10, report["after"]["instructions"],
            report["after"]["buffer_bytes"] >> 10, report["tests"], report["seconds"])
    return text


BLOCKS = {"bisections": bisections, "programs": programs, "memory": memory, "evaluations": evaluations, "noise": noise, "launches": launches,
          "coverage": coverage, "tuning_rates": tuning_rates, "tuning_launches": tuning_launches,
          "tuning_speedups": tuning_speedups, "tuning_gpus": tuning_gpus}
MARKED = re.compile(r"^\.\. gpu-report: (?!end)(\w+)\n.*?^\.\. gpu-report: end\n", re.M | re.S)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", metavar="RESULTS")
    parser.add_argument("--update", nargs="+", default=[], metavar="FILE")
    args = parser.parse_args()
    results = {}
    for name in "hecbench", "examples", "bench", "tune", "bisect":
        path = os.path.join(args.results, name + ".json")
        if os.path.exists(path):
            with open(path) as file:
                results[name] = json.load(file)
    made = {}
    for name, make in BLOCKS.items():
        try:
            made[name] = make(results)
        except (KeyError, IndexError, TypeError) as error:
            # A step that was not run, or a part that could not be measured.
            sys.stderr.write("gpu-report: no figures for '%s': %r\n" % (name, error))
    if not args.update:
        for name, text in made.items():
            print(".. gpu-report: %s\n\n%s\n\n.. gpu-report: end\n" % (name, text))
    for path in args.update:
        def replace(match):
            name = match.group(1)
            if name not in BLOCKS:
                sys.exit("gpu-report: error: '%s' has an unknown table '%s'" % (path, name))
            if name not in made:
                return match.group(0)
            return ".. gpu-report: %s\n\n%s\n\n.. gpu-report: end\n" % (name, made[name])

        with open(path) as file:
            text = file.read()
        with open(path, "w") as file:
            file.write(MARKED.sub(replace, text))


if __name__ == "__main__":
    main()
