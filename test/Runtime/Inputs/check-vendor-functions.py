"""Compares the tables of CUDA's and HIP's functions with the vendors' headers.

Usage: check-vendor-functions.py SOURCES INCLUDE VENDOR CC...

CC compiles C++. Symbols must be declared, with the table's number of parameters. Those that are
named ...OrNone exist in some releases only. Of a symbol with a version (_v2), headers may declare
only another one. HIP's symbols may be newer than its headers."""

import re
import subprocess
import sys

TABLES = """
#define HIP_SAME(Symbol, Parameters) Symbol Parameters;
#define HIP_OPTIONAL HIP_SAME
#define HIP_ADAPTED HIP_SAME
#define HIP_OWN(...)
#define HIP_NONE(...)
#define CUDA_DRIVER(Name, Symbol, Kind, HipSymbol, Parameters) Symbol Parameters; Kind(HipSymbol, Parameters)
#include <include/llvm/Mneme/Runtime/CudaDriverFunctions.def>
#define BOTH(Class, Host, Name, Cuda, Hip, Parameters, ...) Cuda Parameters; Hip Parameters;
#define CUDA(Class, Host, Name, Cuda, Parameters, ...) Cuda Parameters;
#define HIP CUDA
#include <lib/Runtime/Driver/VendorFunctions.def>
"""
HEADERS = {
    "cuda": "#define __CUDA_API_VERSION_INTERNAL\n#include <cuda.h>\n#include <cudaProfiler.h>\n#include <cuda_profiler_api.h>\n#include <cuda_runtime_api.h>",
    "hip": "#define __HIP_PLATFORM_AMD__ 1\n#define __HIP_PLATFORM_HCC__ 1\n#include <hip/hip_runtime_api.h>",
}
sources, include, vendor = sys.argv[1:4]


def declarations(code):
    """The functions that the code declares: (name, the last words of the parameters)."""
    command = sys.argv[4:] + ["-E", "-P", "-xc++", "-I" + sources, "-idirafter" + include, "-"]
    text = subprocess.run(command, input=code, stdout=subprocess.PIPE, text=True, check=True).stdout
    for name, parameters in re.findall(r"\b(\w+)\s*\(((?:[^()]|\([^()]*\))*)\)\s*;", text):
        parameters = re.sub(r"\([^()]*\)", "", parameters).strip()
        yield name, [] if parameters in ("", "void") else [p.split()[-1] for p in parameters.split(",")]


known = {name: len(parameters) for name, parameters in declarations(HEADERS[vendor])}
compared = set()
for name, parameters in declarations(TABLES):
    if not re.match("cu[A-Z]|cuda" if vendor == "cuda" else "hip", name):
        continue
    required = sum(not p.endswith("OrNone") for p in parameters)
    if name in known:
        compared.add(name)
        if not required <= known[name] <= len(parameters):
            print("%s has %d parameters instead of %d" % (name, known[name], len(parameters)))
    elif vendor == "cuda" and re.sub(r"_v\d", "", name) not in known:
        print("%s is not declared" % name)
print("%d functions compared" % len(compared))
