"""An agent that follows SKILL.md: it makes a kernel faster, packs the result and proves it."""

import asyncio
import os
import sys

from mcp import Client
from mcp.client.stdio import StdioServerParameters


async def work(client, recording, output):
    async def call(tool, **arguments):
        result = await client.call_tool(tool, arguments)
        if result.is_error:
            print(f"{tool}: error: {result.content[0].text}")
            return None
        print(f"{tool}: {result.structured_content['next']}")
        return result.structured_content

    kernels = (await call("recordings"))["kernels"]
    where = {"recording": recording, "kernel": kernels[0]["kernel"]}
    print("  launch", (await call("show", **where))["launch"])
    answer = await call("replay", **where)
    print("  verdict", answer["verdict"], "time in", answer["metrics"]["time"]["unit"])
    await call("replay", config={"passes": "default<O3>,nonsense"}, **where)
    print("  limited by", (await call("counters", **where))["limited_by"])
    study = await call("tune", output=f"{output}/study", budget=20, trials=40, **where)
    print("  faster:", study["significant"])
    config = study["config"] or {"passes": "default<O1>"}
    print("  ratio", (await call("compare", config=config, **where))["ratio"]["unit"])
    packed = await call("pack", recording=recording, study=study["study"], output=f"{output}/app.mneme")
    if packed["packed"]:
        proof = await call("prove", package=packed["package"], application="jacobi", runs=2)
        print("  equal results:", proof["equal"])
    await call("replay", recording="/etc")


async def main(recording, output):
    server = ["-m", "llvm_mneme.mcp", f"--read={recording}", f"--write={output}", "--device=host"]
    server += ["--application=jacobi=./jacobi", "--call-seconds=120", "--total-seconds=400"]
    parameters = StdioServerParameters(command=sys.executable, args=server, env=dict(os.environ))
    async with Client(parameters) as client:
        await work(client, os.path.abspath(recording), os.path.abspath(output))


asyncio.run(main(*sys.argv[1:]))
