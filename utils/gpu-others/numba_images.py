"""The kernels of numba_kernels.py, compiled where Numba is, and launched where it is not.

    numba_images.py save DIR    compiles them: cubins, LLVM IR, symbols; needs Numba, and no GPU
    numba_images.py DIR         registers the IR, loads the cubins and launches them through the driver;
                                DIR is relative to this file
"""
from mneme_common import result

import ctypes
import json
import os
import sys
import types

import llvm_mneme.numba as hook
import numpy as np
from numba_launches import LAUNCHES, RESULTS, arrays

CAPABILITY, ARCH = (9, 0, "a"), "sm_90a"


def save(folder):
    import numba
    import numba_kernels
    from numba.cuda.compiler import _compile_pyfunc_with_fixup

    os.makedirs(folder, exist_ok=True)
    symbols, values = {}, arrays()
    for kernel, _, _, args in LAUNCHES:
        signature = numba.void(*(numba.typeof(values.get(a, a)) for a in args))
        library, _ = _compile_pyfunc_with_fixup(getattr(numba_kernels, kernel).py_func, signature, device=False, abi="numba",
                                                cc=CAPABILITY)
        symbols[kernel] = library._entry_name
        with open(os.path.join(folder, kernel + ".cubin"), "wb") as file:
            file.write(library.get_cubin(cc=CAPABILITY).code)
        with open(os.path.join(folder, kernel + ".ll"), "w") as file:
            file.write("\n".join(library.llvm_strs))
    with open(os.path.join(folder, "symbols.json"), "w") as file:
        json.dump(symbols, file, indent=1)


def launch_all(folder):
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name, *args):
        code = getattr(cuda, name)(*args)
        if code:
            sys.exit("%s: error %d" % (name, code))

    device, context = ctypes.c_int(), ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    values, memory = arrays(), {}
    for name, array in values.items():
        memory[name] = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(memory[name]), ctypes.c_size_t(array.nbytes))
        call("cuMemcpyHtoD_v2", memory[name], array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes))

    def flatten(arg):
        """The parameters that Numba passes for an argument."""
        if isinstance(arg, float):
            return [ctypes.c_double(arg)]
        a = values[arg]
        return [ctypes.c_uint64(v) for v in (0, 0, a.size, a.itemsize, memory[arg].value, *a.shape, *a.strides)]

    with open(os.path.join(folder, "symbols.json")) as file:
        symbols = json.load(file)
    for kernel, grid, block, args in LAUNCHES:
        with open(os.path.join(folder, kernel + ".cubin"), "rb") as file:
            cubin = file.read()
        with open(os.path.join(folder, kernel + ".ll")) as file:
            ir = file.read()
        library = types.SimpleNamespace(llvm_strs=[ir], _entry_name=symbols[kernel])
        print("registered", kernel, hook.register_library(library, cubin, ARCH))
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        call("cuModuleLoadData", ctypes.byref(module), cubin)
        call("cuModuleGetFunction", ctypes.byref(function), module, symbols[kernel].encode())
        flat = sum(map(flatten, args), [])
        pointers = (ctypes.c_void_p * len(flat))(*map(ctypes.addressof, flat))
        dims = [*grid, *[1] * (3 - len(grid)), *block, *[1] * (3 - len(block))]
        call("cuLaunchKernel", function, *dims, 0, None, pointers, None)
    for name, array in values.items():
        call("cuMemcpyDtoH_v2", array.ctypes.data_as(ctypes.c_void_p), memory[name], ctypes.c_size_t(array.nbytes))
    result(*(values[name] for name in RESULTS))


if __name__ == "__main__":
    if sys.argv[1] == "save":
        save(sys.argv[2])
    else:
        launch_all(os.path.join(os.path.dirname(os.path.abspath(__file__)), sys.argv[1]))
