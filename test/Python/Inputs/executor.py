import asyncio
import concurrent.futures
import pickle
import sys

import llvm_mneme as mneme

kernel = mneme.open(sys.argv[1])["poly"]
with mneme.Executor(kernel, device="host") as executor:
    print(executor.capacity > 0, executor.devices[0]["device"], len(executor.powers))
    result = executor.submit(passes="default<O3>").result()
    print(result.verified, result.time > 0, len(result.samples), result.instance is next(iter(kernel.values())))
    same = executor.submit({"passes": "default<O3>"}).result()
    print(same.duplicate, same.duplicate_of == result.number, same.time == result.time)
    other = executor.submit(passes="default<O1>", instance=list(kernel)[1]).result()
    print(other.instance.block.x, other.verified)
    futures = [executor.submit(block_x=n, grid_x=4096 // n) for n in (32, 64, 128)]
    done, _ = concurrent.futures.wait(futures)
    print(len(done), [f.result().config.block_x for f in futures])
    print([r.config.grid_x for r in executor.map({"grid.x": n} for n in (16, 20, 24))])
    wrong = executor.evaluate(grid_x=8)
    print(wrong.verified, wrong.failure, wrong.time, wrong.verdict, result.verdict)
    print(executor.evaluate(passes="nonsense").failure, executor.evaluate(block_x=5000).failure)

    async def main():
        return await asyncio.gather(*(executor.submit(maxnreg=n) for n in (16, 32)))

    print([r.config.maxnreg for r in asyncio.run(main())])
    compared = executor.compare({}, {"passes": "default<O1>"}, pairs=6)
    print(len(compared.samples), len(compared.samples[0]) >= 6, compared.interval[0] <= compared.speedup <= compared.interval[1])
    # One pair is no evidence.
    single = executor.compare({}, {}, pairs=1)
    print(len(single.samples[0]), single.interval, single.is_faster, "no interval" in repr(single), "no interval" in single._repr_html_())
    try:
        executor.compare({}, {"grid.x": 8})
    except mneme.RequestError as error:
        print(str(error)[:9])
    text = result.module(optimized=False).text
    print(executor.evaluate(passes="default<O2>", ir=text).verified)
    print(executor.evaluate(ir="nonsense").failure)
    copy = pickle.loads(pickle.dumps(result))
    print(copy.time == result.time, copy.config == result.config, copy.instance.record_id == result.instance.record_id)
    print("<table>" in result._repr_html_(), "<table>" in compared._repr_html_())
print(executor)
