"""Versions of a source as texts: results, messages as data, suspicions, IR and memory."""
import sys

import llvm_mneme as mneme

with open("src/kernel.cu") as file:
    text = file.read()
call = "F(scale(P[I]))"
assert call in text
with mneme.Executor("rec", device="host", options=["--source-dir=src"]) as executor:
    results = list(executor.map([
        mneme.Config(source=text),
        mneme.Config(source=text.replace(call, "F(P[I] * FACTOR)")),
        mneme.Config(source=text.replace(call, "F(P[I]) + ADDEND"), define={"ADDEND": 2}),
        mneme.Config(source=text.replace(call, "F(P[I]) + ADDEND")),
        mneme.Config(source=text.replace(call, "clock64() ? F(scale(P[I])) : 0")),
    ]))
    recorded = executor.submit().result()
    for result in results:
        print(result.failure or "verified", len(result.diagnostics), len(result.suspicions))
    print(results[0].code_hash == recorded.code_hash, results[3].diagnostics[0]["message"])
    print(results[4].suspicions[0])
    print("ADDEND" in results[2].config["source"], results[2].config.define)
    # The module is that of the version.
    module = results[4].module(optimized=False)
    print("clock64" in module.text, "clock64" in recorded.module(optimized=False).text)
    try:
        results[3].module().text
    except mneme.MnemeError as error:
        print("refused", "ADDEND" in str(error))
with mneme.Executor("rec", device="host") as executor:
    print(executor.submit(source=text).result().error)
