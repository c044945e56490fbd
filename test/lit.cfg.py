import atexit
import os
import shutil
import subprocess
import tempfile

import lit.formats
from lit.llvm import llvm_config
from lit.llvm.subst import ToolSubst

config.name = "Mneme"
config.test_format = lit.formats.ShTest(not llvm_config.use_lit_shell)
config.suffixes = [".ll", ".test", ".cu", ".cpp", ".c", ".mlir"]
config.excludes = ["Inputs", "CMakeLists.txt", "tools"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.mneme_obj_root, "test")

llvm_config.use_default_substitutions()
llvm_config.with_environment("PATH", config.mneme_tools_dir, append_path=True)
llvm_config.with_environment("PATH", config.llvm_tools_dir, append_path=True)
# Studies of tests do not begin with what others found.
llvm_config.with_environment("MNEME_STUDY_STORE", "off")
llvm_config.with_system_environment(["CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH"])

for arch in config.mneme_targets.split(";"):
    config.available_features.add(arch.lower() + "-registered-target")
if config.mneme_enable_mlir:
    config.available_features.add("mneme-mlir")
if config.mneme_have_nvptxcompiler:
    config.available_features.add("nvptxcompiler")
if config.mneme_use_sanitizer:
    config.available_features.add("sanitizer")
    # ASan's allocator takes terabytes where device memory lies otherwise.
    llvm_config.with_environment("MNEME_VA_BASE", "0x200000000000")
    # LLVM and MLIR are not instrumented: what they take from an arena that the tools
    # have poisoned stays poisoned.
    asan_options = [config.environment.get("ASAN_OPTIONS"), "allow_user_poisoning=0"]
    llvm_config.with_environment("ASAN_OPTIONS", ":".join(filter(None, asan_options)))

plugin = os.path.join(config.mneme_lib_dir, "MnemePass" + config.llvm_plugin_ext)
config.substitutions.append(("%mneme_pass", plugin))
config.substitutions.append(
    ("%mneme_rt", os.path.join(config.mneme_lib_dir, "libmneme_rt.so"))
)
config.substitutions.append(
    ("%mneme_deploy_hip", os.path.join(config.mneme_lib_dir, "libmneme_deploy_hip.so"))
)
config.substitutions.append(
    ("%mneme_deploy", os.path.join(config.mneme_lib_dir, "libmneme_deploy.so"))
)
# Passes that go wrong (test/tools/mneme-test-passes).
config.substitutions.append(
    (
        "%test_passes",
        os.path.join(config.mneme_lib_dir, "MnemeTestPasses" + config.llvm_plugin_ext),
    )
)
# Faults to be found by bisection (test/tools/faults).
config.substitutions.append(
    (
        "%fault_passes",
        os.path.join(config.mneme_lib_dir, "FaultPasses" + config.llvm_plugin_ext),
    )
)
config.substitutions.append(("%mneme_src", config.mneme_src_root))
config.substitutions.append(("%mneme_obj", config.mneme_obj_root))
# Where bin and lib are: inside LLVM, the folder of its build.
build = os.path.dirname(os.path.realpath(config.mneme_tools_dir))
config.substitutions.append(("%mneme_build", build))
if build == os.path.realpath(config.mneme_obj_root):
    config.available_features.add("standalone")

config.substitutions.append(("%llvm_cmake_dir", config.mneme_llvm_cmake_dir))
config.substitutions.append(("%llvm_tools", config.llvm_tools_dir))
# Inside LLVM, only with clang among its projects.
if os.path.exists(os.path.join(config.llvm_tools_dir, "clang")):
    config.available_features.add("llvm-clang")
config.substitutions.append(("%cxx", config.mneme_cxx))
config.substitutions.append(("%cc", config.mneme_cc))
if config.mneme_llvm_source:
    config.available_features.add("llvm-source")
    config.substitutions.append(("%llvm_source", config.mneme_llvm_source))

# Compilers behind this share their work within one run of lit.
os.makedirs(config.test_exec_root, exist_ok=True)
compilations = tempfile.mkdtemp(prefix="compilations-", dir=config.test_exec_root)
atexit.register(shutil.rmtree, compilations, ignore_errors=True)
compile_sh = "bash %s %s " % (os.path.join(config.test_source_root, "Inputs", "compile.sh"), compilations)

have_clang = bool(config.mneme_clang) and os.path.exists(config.mneme_clang)
if have_clang and os.path.exists(
    os.path.join(os.path.dirname(os.path.realpath(config.mneme_clang)), "mlir-translate")
):
    config.available_features.add("mlir-tools")
have_cuda = os.path.exists(
    os.path.join(config.mneme_cuda_path, "include", "cuda_runtime.h")
)
if have_clang:
    config.available_features.add("clang")
    config.substitutions.append(
        (
            "%clangxx_path",
            os.path.join(os.path.dirname(os.path.realpath(config.mneme_clang)), "clang++"),
        )
    )
    config.substitutions.append(("%clangxx", config.mneme_clang + " --driver-mode=g++"))
if have_clang and have_cuda:
    # %cuda_cc FILE.cu -o APP compiles an instrumented program against the shared
    # runtime; %cuda_cc_plain does the same without the pass. %cuda_command is the compiler's
    # command as a tool expects it.
    cuda = config.mneme_cuda_path
    lib = os.path.join(cuda, "lib64")
    flags = (
        "%s --driver-mode=g++ --cuda-path=%s --offload-arch=sm_90 "
        "-Wno-unknown-cuda-version -isystem %s/include/cccl -I%s/include -L%s "
        "-Wl,-rpath,%s "
    ) % (config.mneme_clang, cuda, cuda, config.mneme_src_root, lib, lib)
    config.available_features.add("cuda-toolkit")
    config.substitutions.append(("%cuda_cc_plain", compile_sh + flags))
    # Archives must follow the source: tests end with %cuda_static_libs.
    config.substitutions.append(("%cuda_static_libs", "-lcudart_static -ldl -lrt -lpthread"))
    config.substitutions.append(("%cuda_cc_static", compile_sh + flags + "-fpass-plugin=" + plugin))
    command = flags + "-fpass-plugin=" + plugin + " -lcudart"
    config.substitutions.append(("%cuda_cc", compile_sh + command))
    config.substitutions.append(("%cuda_command", command))
    config.substitutions.append(("%cuda_path", cuda))
    # A small header in place of CUDA's own.
    small = os.path.join(config.test_source_root, "Inputs", "small-cuda")
    small = "-nogpuinc -isystem %s -isystem %s/include -include cuda_runtime.h" % (small, cuda)
    config.substitutions.append(("%{small_cuda}", small))
    llvm_config.with_environment("PATH", os.path.join(cuda, "bin"), append_path=True)

if shutil.which("ptxas", path=config.environment["PATH"]):
    config.available_features.add("ptxas")
# %controls_ptxas is one that takes controls files: of CUDA 13.3 or later, or that of --param=controls_ptxas=PTXAS.
controls_ptxas = lit_config.params.get("controls_ptxas") or shutil.which("ptxas", path=config.environment["PATH"])
if controls_ptxas and "--apply-controls" in subprocess.run(
    [controls_ptxas, "--help"], stdout=subprocess.PIPE, universal_newlines=True
).stdout:
    config.available_features.add("ptxas-controls")
    config.substitutions.append(("%controls_ptxas", controls_ptxas))
# The pass for the clang of another LLVM (MNEME_PLUGIN_LLVM_DIRS).
for version in range(19, 22):
    built = os.path.exists(os.path.join(config.mneme_lib_dir, "MnemePass-%d.so" % version))
    if built and shutil.which("clang++-%d" % version):
        config.available_features.add("pass-%d" % version)
# What programs are built with, besides clang and Ninja.
for builder in ["git", "make", "ccache", "g++", "clang-14", "fish", "zsh", "gdb", "patchelf"]:
    if shutil.which(builder):
        config.available_features.add(builder)
if os.geteuid() == 0:
    config.available_features.add("root")

# A test can mount its own file systems.
if shutil.which("unshare") and not subprocess.run(
    ["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"],
    stderr=subprocess.DEVNULL,
).returncode:
    config.available_features.add("mounts")
if shutil.which("sphinx-build"):
    config.available_features.add("sphinx")
for reducer in ["llvm-reduce-22", "llvm-reduce"]:
    if shutil.which(reducer, path=config.environment["PATH"]):
        config.available_features.add("llvm-reduce")
if any(shutil.which(opt, path=config.environment["PATH"]) for opt in ("opt-22", "opt")):
    config.available_features.add("opt")
# Releases of LLVM for --opt-tool, where Debian's packages install them: features llvm-19 and opt-19.
for major in range(14, 40):
    if shutil.which("opt-%d" % major):
        config.available_features.add("opt-%d" % major)
        if os.path.exists("/usr/lib/llvm-%d/bin/opt" % major):
            config.available_features.add("llvm-%d" % major)
if shutil.which("nvdisasm", path=config.environment["PATH"]):
    config.available_features.add("nvdisasm")

# %emulated_gpu [VAR=value...] COMMAND runs it with the emulated CUDA driver
# (test/tools/emulated-cuda), also where there is a real one.
emulated_cuda = os.path.join(config.mneme_lib_dir, "emulated-cuda")
if os.path.exists(emulated_cuda):
    config.available_features.add("emulated-cuda")
    # Programs of tests are not instrumented: they cannot load a driver that is.
    if not config.mneme_use_sanitizer:
        config.available_features.add("emulated-cuda-programs")
libraries = [emulated_cuda]
if config.environment.get("LD_LIBRARY_PATH"):
    libraries.append(config.environment["LD_LIBRARY_PATH"])
config.substitutions.append(
    ("%emulated_gpu", "env LD_LIBRARY_PATH=" + ":".join(libraries))
)
config.substitutions.append(("%emulated_cuda", emulated_cuda))
# test/Runtime/Hip runs some tests of CUDA for HIP.
config.substitutions.append(("%gpu_kind", "cuda"))
config.substitutions.append(("%other_gpu", "sm_100"))
# In place of %cuda_static_libs.
config.substitutions.append(
    (
        "%emulated_static_libs",
        os.path.join(emulated_cuda, "libcudart_static.a") + " -ldl -lpthread",
    )
)

# libmneme_jit.so with ThreadSanitizer.
tsan = os.path.join(config.mneme_lib_dir, "tsan", "libmneme_jit.so")
if os.path.exists(tsan):
    config.available_features.add("runtime-tsan")
config.substitutions.append(("%runtime_tsan", tsan))

# %emulated_amd [VAR=value...] COMMAND runs it with the emulated HIP runtime (test/tools/emulated-hip).
emulated_hip = os.path.join(config.mneme_lib_dir, "emulated-hip")
# Programs of tests are linked with it, and not instrumented.
if os.path.exists(emulated_hip) and not config.mneme_use_sanitizer:
    config.available_features.add("emulated-hip")
config.substitutions.append(
    ("%emulated_amd", "env LD_LIBRARY_PATH=" + ":".join([emulated_hip] + libraries[1:]))
)
config.substitutions.append(("%emulated_hip", emulated_hip))
# A HIP program that includes nothing of ROCm, linked with the emulated runtime.
hip_flags = (
    " --driver-mode=g++ -x hip -std=c++17 -nogpuinc -nogpulib -fdeclspec -include "
    + os.path.join(config.mneme_src_root, "test/Instrument/Inputs/minihip.h ")
)
config.substitutions.append(("%hip_ir", config.mneme_clang + hip_flags + "--offload-device-only"))
config.substitutions.append(
    ("%hip_cc", compile_sh + config.mneme_clang + hip_flags + "-fpass-plugin=" + plugin)
)
config.substitutions.append(("%hip_libs", "-L" + emulated_hip + " -lamdhip64"))
# %hip_include has ROCm's headers.
for include in ["/opt/rocm/include", "/usr/include"]:
    if os.path.exists(os.path.join(include, "hip/hip_runtime_api.h")) and "hip-headers" not in config.available_features:
        config.available_features.add("hip-headers")
        config.substitutions.append(("%hip_include", include))
if config.mneme_have_offload:
    config.available_features.add("offload")

tools = [
    "llvm-mneme-record",
    "llvm-mneme-replay",
    "llvm-mneme-tune",
    "llvm-mneme-deploy",
    "llvm-mneme-evolve",
    "llvm-mneme-jitd",
    "mneme-farm-fuzzer",
    "mneme-opt",
    "mneme-package",
    "mneme-pass-opt",
    "mneme-pipeline-fuzzer",
    "mneme-pipeline-space",
    "mneme-study-files",
    "mneme-launch-fuzzer",
    "mneme-package-fuzzer",
    "mneme-record-fuzzer",
    "mneme-sampler-bench",
]
if os.path.exists(os.path.join(config.mneme_tools_dir, "mneme-sampler-bench")):
    config.available_features.add("sampler-bench")
# LLVM can be configured to build no fuzzers.
for fuzzer in ["farm-fuzzer", "launch-fuzzer", "package-fuzzer", "pipeline-fuzzer", "record-fuzzer"]:
    if os.path.exists(os.path.join(config.mneme_tools_dir, "mneme-" + fuzzer)):
        config.available_features.add(fuzzer)

llvm_config.add_tool_substitutions(
    [ToolSubst(t, unresolved="ignore") for t in tools],
    [config.mneme_tools_dir],
)
llvm_config.add_tool_substitutions(
    [
        ToolSubst(t, unresolved="ignore")
        for t in ["opt", "llvm-dis", "llvm-as", "llvm-readelf", "llvm-nm", "llc"]
    ],
    [config.llvm_tools_dir],
)

# %optuna is a Python that has Optuna: the system's, or that of a virtual environment named by
# --param=optuna=PYTHON (utils/check-optuna.sh). Packages that the user has installed do not matter.
# %chromium is a browser without a window.
optuna = [lit_config.params.get("optuna", "/usr/bin/python3"), "-E", "-s"]
find = "import importlib.util as u, sys; sys.exit(u.find_spec('optuna') is None)"
if os.path.exists(optuna[0]) and subprocess.run(optuna + ["-c", find]).returncode == 0:
    config.available_features.add("optuna")
    config.substitutions.append(("%optuna", " ".join(optuna)))
elif "optuna" in lit_config.params:
    lit_config.fatal("no Optuna in '%s'" % optuna[0])

# %openmp_cc compiles OpenMP target regions for the GPU with the device runtime in the folder that --param=openmp=DIR names
# (utils/check-others.sh), and %openmp_added is what their IR is linked with. %openmp_runtime is that folder, for %flang.
if "openmp" in lit_config.params and have_clang and have_cuda:
    runtime = os.path.join(lit_config.params["openmp"], "runtime")
    config.available_features.add("openmp-nvptx")
    config.substitutions.append(("%openmp_added", runtime + "/added.bc"))
    config.substitutions.append(("%openmp_runtime", runtime))
    flang = os.path.join(config.llvm_tools_dir, "flang")
    if os.path.exists(flang):
        config.available_features.add("flang")
        config.substitutions.append(("%flang", flang))
    config.substitutions.append(
        (
            "%openmp_cc",
            "%s --driver-mode=g++ -fopenmp --offload-arch=sm_90 --cuda-path=%s -Wno-unknown-cuda-version "
            "--libomptarget-nvptx-bc-path=%s/libomptarget-nvptx.bc -Xoffload-linker -L%s"
            % (config.mneme_clang, config.mneme_cuda_path, runtime, runtime),
        )
    )

# %mneme_python runs Python with the package llvm-mneme of these sources and this build. Features python-NAME are its
# optional packages. --param=python=PYTHON selects one, such as that of a virtual environment (utils/check-python.sh).
# The default is the environment of utils/setup.sh, in the build folder, or the system's Python.
with_mcp = os.path.join(config.mneme_obj_root, "python-env", "bin", "python")
python = lit_config.params.get("python", with_mcp if os.path.exists(with_mcp) else "/usr/bin/python3")
if os.path.exists(python):
    config.available_features.add("python3")
    config.substitutions.append(
        (
            "%mneme_python",
            "env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=%s MNEME_ROOT=%s %s -s"
            % (os.path.join(config.mneme_src_root, "python"), build, python),
        )
    )
    packages = ["numpy", "optuna", "pandas", "pyarrow", "llvmlite", "matplotlib", "ray", "distributed", "mypy", "pip", "setuptools", "wheel", "mcp"]
    packages += ["ipykernel", "jupyter_client", "openevolve", "numba_cuda", "halide", "torch", "triton"]
    find = "import importlib.util as u; print(*(m for m in %r if u.find_spec(m)))" % (packages,)
    found = subprocess.run([python, "-s", "-c", find], stdout=subprocess.PIPE).stdout.decode()
    for package in found.split():
        config.available_features.add("python-" + package)

chromium = shutil.which("chromium") or shutil.which("google-chrome")
if chromium:
    config.available_features.add("chromium")
    config.substitutions.append(
        (
            "%chromium",
            chromium + " --headless --no-sandbox --disable-gpu "
            "--disable-dev-shm-usage --user-data-dir=%t.profile",
        )
    )

# What can run here is asked of the tool, never guessed at configure time, so that
# one build tree runs the GPU tests when it is moved to a machine with a GPU.
replay = os.path.join(config.mneme_tools_dir, "llvm-mneme-replay")
if os.path.exists(replay):
    out = subprocess.run(
        [replay, "--list-devices"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ).stdout.decode()
    for line in out.splitlines():
        kind = line.split(":")[0].split()[0] if line.split() else ""
        if kind:
            config.available_features.add("device-" + kind)

# Tests mean the host, or the emulated GPU, where they name no device: what a real GPU
# is asked for says %real_gpu COMMAND, and REQUIRES: device-cuda.
visible = config.environment.get("CUDA_VISIBLE_DEVICES")
config.substitutions.append(
    (
        "%real_gpu",
        "env -u CUDA_VISIBLE_DEVICES"
        if visible is None
        else "env CUDA_VISIBLE_DEVICES=" + visible,
    )
)
config.environment["CUDA_VISIBLE_DEVICES"] = ""
