import concurrent.futures
import sys
from collections import Counter

import llvm_mneme as mneme

kernel = mneme.open(sys.argv[1])["poly"]
with mneme.Executor(kernel, device="host", options=["--load-pass-plugin=" + sys.argv[2]]) as executor:
    futures = []
    for number in range(1000):
        if number % 10 == 0:
            futures.append(executor.submit(passes="test-crash", maxnreg=16 + number // 10))
        else:
            futures.append(executor.submit(passes="default<O%d>" % (1 + number % 3), maxnreg=16 + number % 7))
    concurrent.futures.wait(futures)
    print(sorted(Counter(f.result().failure for f in futures).items()))
    print(all((f.result().failure != "") == (number % 10 == 0) for number, f in enumerate(futures)))
    print(executor.stats()[0]["compiler_deaths"])
