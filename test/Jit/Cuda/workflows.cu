// Kernels of sources in all languages, through the CUDA runtime and the driver: the settings of the JIT apply to them, they are recorded
// and replayed, and served from a package. libmneme_deploy.so may be preloaded in addition to libmneme_jit.so: the report is that of one.
//
// REQUIRES: device-host, mlir-tools
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: %cuda_cc_plain -O2 -std=c++17 -I%mneme_src/include %s -o app -lcudart -Wl,--no-as-needed %jit_lib -Wl,-rpath,%mneme_build/lib
// RUN: llvm-mneme-record -o rec --device=host --any-executable --quiet -- ./app | FileCheck %s
// DEFINE: %{gpu} = %emulated_gpu MNEME_EMULATED_KERNELS=%t/rec MNEME_JIT_REPORT=report
// RUN: %{gpu} ./app | FileCheck %s
// CHECK: cpp 0: 1 59
// CHECK-NEXT: instance 0: 1 59
// CHECK-NEXT: ir 0: 1 59
// CHECK-NEXT: mlir 0: 1 59
// CHECK-NEXT: built 0: 1 59
// CHECK-NOT: {{.}}
//
// RUN: %{gpu} MNEME_JIT_KERNELS='cpp|instance|ir|mlir|built' MNEME_JIT_PASSES='default<O1>' ./app | FileCheck %s
// RUN: %jit_report report | FileCheck %s --check-prefix=ALL
// ALL: served=5 fell_back=0 compiled=5
// RUN: %jit_report report mlir | FileCheck %s --check-prefix=MLIR
// MLIR: kernel mlir
// MLIR-NEXT: block.x = 128, threads <= 128: 1 served
// RUN: %{gpu} ./app '-DMARK=__attribute__((annotate("jit",2)))' cpp
// RUN: %jit_report report cpp | FileCheck %s --check-prefix=MARKED
// MARKED: arg 2 = 64, block.x = 128, threads <= 128: 1 served
//
// RUN: %{gpu} llvm-mneme-record -o gpu --device=cuda --any-executable -- ./app 2>&1 | FileCheck %s --check-prefix=RECORD
// RECORD: 5 launches seen, 5 recorded
// RUN: ls rec | grep '^[0-9a-f]*.json' > rec.txt
// RUN: ls gpu | grep '^[0-9a-f]*.json' | cmp rec.txt -
// RUN: %{gpu} llvm-mneme-replay gpu --all --device=cuda:0 --iterations=1 | FileCheck %s --check-prefix=REPLAY
// RUN: llvm-mneme-replay gpu --all --device=host --specialize | FileCheck %s --check-prefix=REPLAY
// REPLAY-COUNT-5: "verdict": "Match"
//
// The package is for the library in the cache, which is the only file with the kernel.
// RUN: %{gpu} MNEME_JIT_CACHE=%t/cache XDG_RUNTIME_DIR=%t ./app built > out
// RUN: %python -c "import glob; b = open(glob.glob('cache/*.code')[0], 'rb').read(); open('module.so', 'wb').write(b[b.index(b'\x7fELF'):])"
// RUN: llvm-mneme-record -o one --device=host --any-executable --quiet -- ./app built
// RUN: llvm-mneme-replay one --no-execute --output-obj=built.cubin > replay.json
// RUN: mneme-package app.mneme module.so kernel=built variant=built.cubin entry=built
// RUN: %{gpu} llvm-mneme-deploy run --device=cuda --report=tuned app.mneme -- ./app | FileCheck %s
// RUN: FileCheck %s --check-prefix=TUNED < tuned
// TUNED: "served": 1,
// RUN: %{gpu} llvm-mneme-deploy prove --device=cuda --runs=2 --kernel-runs=3 app.mneme -- ./app built | FileCheck %s --check-prefix=PROVE
// PROVE: results      equal
// PROVE-NEXT: served       1 of 1 launch

#include "../Source/Inputs/frontends.h"

int main(int argc, char **argv) { return launchKernels(argc, argv); }
