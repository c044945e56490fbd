import glob
import os
import subprocess
import sys
from collections import Counter

import llvm_mneme as mneme

folder, sources, compiler = sys.argv[1], sys.argv[2], sys.argv[3:]
examples, different = 0, []
programs = {os.path.splitext(os.path.basename(path))[0]: [path] for path in glob.glob(os.path.join(sources, "*.cu"))}
programs["miniapp"] = glob.glob(os.path.join(sources, "miniapp", "*.c*"))
for name, files in sorted(programs.items()):
    app, rec = os.path.join(folder, name), os.path.join(folder, name + ".rec")
    subprocess.run([*compiler, "-O2", *files, "-o", app], check=True)
    record = mneme.find_suite().tool("record")
    subprocess.run([record, "--quiet", "-o", rec, "--device=host", "--", app], check=True, stdout=subprocess.DEVNULL)
    examples += 1
    for kernel in mneme.open(rec).values():
        launch = next(iter(kernel.values()))
        for module in (launch.module(), launch._module(mneme.Config(passes="default<O3>"), True, None)):
            theirs = module.to_llvmlite()
            counts = Counter(i.opcode for f in theirs.functions for b in f.blocks for i in b.instructions)
            if counts != module.opcodes():
                different.append((kernel.name, counts, module.opcodes()))
print("examples:", examples)
print("different:", different)
