import sys

import llvm_mneme as mneme

space = mneme.Space({"block_x": [32, 64]})
with mneme.Executor(sys.argv[1], device="host") as executor:
    try:
        mneme.tune(space, executor, trials=2)
    except mneme.RequestError as error:
        print(error)
    print(len(mneme.tune(space, executor, trials=2, retest=0, allow_vacuous=True).trials))
