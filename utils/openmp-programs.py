#!/usr/bin/env python3
"""Builds OpenMP target programs of HeCBench for NVIDIA GPUs, with LLVM's device runtime, which Debian does not ship.

    utils/openmp-programs.py --llvm LLVM [--sources HECBENCH/src] --output DIR

--llvm is a folder with the source of LLVM 22; its folders openmp/device, offload/include, llvm/include/llvm/Frontend/OpenMP
and libc are enough. --output gets the runtime (runtime/libompdevice.a, runtime/libomptarget-nvptx.bc), and with --sources the
programs of gpu-openmp.txt: NAME, and NAME.bc, the IR of its kernels, for --ir. half-memory.so is a driver with which libomptarget
can record.
"""
import argparse
import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# Functions of the runtime that a program calls only after LLVM's OpenMPOpt has changed it; clang finds them when it links.
ADDED = ["__kmpc_get_hardware_thread_id_in_block", "__kmpc_get_hardware_num_threads_in_block", "__kmpc_get_warp_size",
         "__kmpc_barrier_simple_spmd", "__kmpc_barrier_simple_generic"]


def programs():
    """Names and arguments."""
    with open(os.path.join(HERE, "gpu-openmp.txt")) as file:
        lines = [line.split("#")[0].strip() for line in file]
    return {name.strip(): words.split() for name, _, words in (line.partition(":") for line in lines if line)}


def build_runtime(args):
    """As openmp/device/CMakeLists.txt does."""
    folder, source = os.path.join(args.output, "runtime"), os.path.join(args.llvm, "openmp/device")
    os.makedirs(folder, exist_ok=True)
    flags = ["--target=nvptx64-nvidia-cuda", "-O3", "-std=c++17", "-flto", "-emit-llvm", "-c", "-fvisibility=hidden", "-nogpulib",
             "-nostdlibinc", "-fno-rtti", "-fno-exceptions", "-fconvergent-functions", "-Wno-unknown-cuda-version", "-mllvm",
             "-vectorize-slp=false", "--cuda-feature=+ptx63", "-DSHARED_SCRATCHPAD_SIZE=512", "-I" + source + "/include",
             "-I" + args.llvm + "/libc", "-I" + args.llvm + "/offload/include"]
    objects = []
    for file in sorted(glob.glob(source + "/src/*.cpp")):
        if os.path.basename(file) != "Stub.cpp":
            objects.append(os.path.join(folder, os.path.basename(file) + ".bc"))
            subprocess.run([args.bin + "/clang++", *flags, file, "-o", objects[-1]], check=True)
    library = os.path.join(folder, "libomptarget-nvptx.bc")
    subprocess.run([args.bin + "/llvm-link", *objects, "-o", library], check=True)
    subprocess.run([args.bin + "/opt", "-passes=internalize,globaldce", "--internalize-public-api-list=" + ",".join(ADDED), library,
                    "-o", folder + "/added.bc"], check=True)
    archive = os.path.join(folder, "libompdevice.a")
    if os.path.exists(archive):
        os.remove(archive)
    subprocess.run([args.bin + "/llvm-ar", "rc", archive, library], check=True)
    return folder


def build_driver(args):
    """The driver is linked by its name alone, since it need not be installed here."""
    with tempfile.TemporaryDirectory() as work:
        compiler = [args.bin + "/clang", "-O2", "-shared", "-fPIC", "-Wl,--no-as-needed"]
        subprocess.run([*compiler, "-xc", "/dev/null", "-Wl,-soname,libcuda.so.1", "-o", work + "/driver.so"], check=True)
        subprocess.run([*compiler, HERE + "/gpu-others/half_memory.c", work + "/driver.so", "-o", args.output + "/half-memory.so"],
                       check=True)


def build(args, runtime, name):
    """The error, or None."""
    source = os.path.abspath(os.path.join(args.sources, name + "-omp"))
    with open(source + "/Makefile") as file:
        found = re.search(r"^source\s*=((?:.*\\\n)*.*)", file.read(), re.M)
    files = [os.path.join(source, word) for word in found[1].replace("\\\n", " ").split()]
    output = os.path.abspath(os.path.join(args.output, name))
    with tempfile.TemporaryDirectory() as work:
        # Headers may be those of the CUDA version.
        command = [args.bin + "/clang++", "-std=c++17", "-O3", "-w", "-fopenmp", "--offload-arch=" + args.arch,
                   "--cuda-path=" + args.cuda_path, "-Wno-unknown-cuda-version",
                   "--libomptarget-nvptx-bc-path=" + runtime + "/libomptarget-nvptx.bc", "-Xoffload-linker", "-L" + runtime,
                   "-I" + source, "-I" + source[:-len("omp")] + "cuda", *files, "-save-temps", "-o", output]
        ran = subprocess.run(command, cwd=work, capture_output=True, text=True)
        if ran.returncode:
            return next((line for line in ran.stderr.splitlines() if "error" in line), "exit code %d" % ran.returncode)
        device = sorted(glob.glob(work + "/*-openmp-nvptx64-*.bc"))
        subprocess.run([args.bin + "/llvm-link", *device, runtime + "/added.bc", "-o", output + ".bc"], check=True)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--llvm", required=True, metavar="DIR")
    parser.add_argument("--sources", metavar="DIR")
    parser.add_argument("--output", required=True, metavar="DIR")
    parser.add_argument("--cuda-path", default="/usr/local/cuda", metavar="DIR")
    parser.add_argument("--bin", default="/usr/lib/llvm-22/bin", metavar="DIR", help="folder of clang++ and LLVM's tools")
    parser.add_argument("--arch", default="sm_90")
    args = parser.parse_args()
    args.output = os.path.abspath(args.output)
    runtime = build_runtime(args)
    build_driver(args)
    if not args.sources:
        return 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        errors = dict(zip(programs(), pool.map(lambda name: build(args, runtime, name), programs())))
    for name, error in errors.items():
        print("%-24s %s" % (name, error or "built"))
    return 1 if any(errors.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
