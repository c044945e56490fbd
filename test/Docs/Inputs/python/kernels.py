import sys

import llvm_mneme as mneme
from llvm_mneme import dataset

results = []
for kernel in mneme.open(sys.argv[1]).values():
    # One executor at a time has the device.
    with mneme.Executor(kernel, device="host", resources=True) as executor:
        results += executor.map({"passes": f"default<O{n}>"} for n in (1, 2, 3))

for row in dataset.rows(results):  # or pandas.DataFrame(dataset.rows(results))
    print(row["kernel"], row["passes"], row["verified"], row["time"], row["reg_usage"])
dataset.write("results.csv", results)
