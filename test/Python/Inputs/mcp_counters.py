"""Calls the tool 'counters' without a client: mcp_counters.py RECORDING WRITABLE DEVICE."""

import asyncio
import os
import sys

from llvm_mneme.mcp import Limits, Session

recording, work, device = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2]), sys.argv[3]
session = Session(Limits([recording], [work], [device], {}, 120, 240))
names = "achieved_occupancy,dram_read_bytes"
answer = asyncio.run(session.call("counters", {"recording": recording, "counters": names}))
print(answer["verdict"])
for name in names.split(","):
    print(name, answer["metrics"][name]["value"], answer["metrics"][name]["unit"])
