"""launch-triton.py FOLDER: registers the kernel of Triton in FOLDER, as Triton's hook
does, loads it, and launches it with ctypes."""
import ctypes
import glob
import os
import sys

import llvm_mneme.triton as hook

files = {os.path.basename(p): p for p in glob.glob(sys.argv[1] + "/add.*")}
print("registered", hook.register_files(files))

cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *args):
    code = getattr(cuda, name)(*args)
    if code:
        sys.exit("%s: %d" % (name, code))


N = 300
device, context, module, function = ctypes.c_int(), *(ctypes.c_void_p() for _ in range(3))
call("cuInit", 0)
call("cuDeviceGet", ctypes.byref(device), 0)
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
call("cuCtxSetCurrent", context)
call("cuModuleLoadData", ctypes.byref(module), open(files["add.cubin"], "rb").read())
call("cuModuleGetFunction", ctypes.byref(function), module, b"add")
buffers = [ctypes.c_uint64() for _ in range(3)]
for i, b in enumerate(buffers):
    call("cuMemAlloc_v2", ctypes.byref(b), ctypes.c_size_t(4 * N))
    values = (ctypes.c_float * N)(*(i * 10 + j for j in range(N)))
    call("cuMemcpyHtoD_v2", b, values, ctypes.c_size_t(4 * N))
values = buffers + [ctypes.c_int(N), ctypes.c_uint64(), ctypes.c_uint64()]
args = (ctypes.c_void_p * 6)(*(ctypes.addressof(v) for v in values))
call("cuLaunchKernel", function, 2, 1, 1, 128, 1, 1, 0, None, args, None)
out = (ctypes.c_float * N)()
call("cuMemcpyDtoH_v2", out, buffers[2], ctypes.c_size_t(4 * N))
print("result", out[0], out[299])
