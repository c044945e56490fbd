import sys

import numpy

import llvm_mneme as mneme

launch = next(iter(mneme.open(sys.argv[1])["poly"].values()))
x, y = launch.pointee(0), launch.pointee(1)
before = x.before("f32")
print(before.dtype, before.shape, before[4], before.flags.writeable)
print(y.after().dtype, y.after()[8], numpy.array_equal(y.after("f32"), (before + 1) * 4))
# Views share the memory: only the first one asks the server.
print(x.before("f32").base is not None, numpy.shares_memory(x.before("f32"), x.before("u8")))
print(launch.buffer("Calls").before("i32")[0], launch.buffer("Calls").after("i32")[0])
print(len(launch.buffer("Calls").before("f64")))
# A text has NumPy's meaning if it has one.
for name in ("i8", "f4", "<f8", ">u2", "f64", "bf16", y.dtype, "bytes", numpy.int16):
    print(x.before(name).dtype.str, end=" ")
print()
for name in ("f99", "S", "O", 3):
    try:
        x.before(name)
    except mneme.RecordingError as error:
        print(error)
try:
    before[0] = 1
except ValueError as error:
    print(error)
with mneme.Executor(launch, device="host") as executor:
    result = executor.evaluate(grid_x=8)
    print(result.failure, numpy.array_equal(result.buffer("out")[:2048], y.after()[:2048]))
    changed = numpy.flatnonzero(result.buffer("out") != y.after())
    print(changed[0], len(changed))
# Also when the executor is closed.
print(result.buffer(y).shape)
