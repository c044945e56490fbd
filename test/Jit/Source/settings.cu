// The settings of the JIT apply to kernels of sources as to others: to those that are annotated in the text, and to those that
// MNEME_JIT_KERNELS selects, in all languages.
//
// REQUIRES: cuda-toolkit, ptxas, device-host, mlir-tools
// RUN: rm -rf %t && mkdir %t %servers/settings && cd %t
// RUN: %cuda_cc_plain -O2 -std=c++17 -I%mneme_src/include %s -o app -lcudart
// DEFINE: %{set} =
// DEFINE: %{args} =
// DEFINE: %{run} = env XDG_RUNTIME_DIR=%servers/settings MNEME_JIT_CACHE=%t/cache MNEME_JIT_REPORT=report %{set} \
// DEFINE:   %source_run ./app %{args}
// RUN: %{run} > plain
// DEFINE: %{report} = %jit_report report
//
// Nothing selects them.
// REDEFINE: %{set} = MNEME_JIT_PASSES=no-such-pass
// RUN: %{run} | cmp plain -
// RUN: %{report} | FileCheck %s --check-prefix=NONE
// NONE: served=0 fell_back=0
//
// REDEFINE: %{set} = MNEME_JIT_KERNELS='cpp|instance|ir|mlir|built' MNEME_JIT_PASSES='default<O1>'
// RUN: %{run} | cmp plain -
// RUN: %{report} | FileCheck %s --check-prefix=ALL
// RUN: for KERNEL in cpp 'void instance<unsigned int>' ir mlir built; do %{report} "$KERNEL"; done | FileCheck %s --check-prefix=EACH
// ALL: served=5 fell_back=0 compiled=5
// EACH: host kernel cpp
// EACH-NEXT: block.x = 128: 1 served
// EACH-NEXT: host kernel void instance<unsigned int>
// EACH-NEXT: block.x = 128: 1 served
// EACH-NEXT: host kernel ir
// EACH-NEXT: block.x = 128: 1 served
// EACH-NEXT: host kernel mlir
// EACH-NEXT: block.x = 128: 1 served
// EACH-NEXT: host kernel built
// EACH-NEXT: block.x = 128: 1 served
//
// The pipeline and the configuration are those of the code: others are compiled again, and errors cost the code only.
// REDEFINE: %{set} = MNEME_JIT_KERNELS='cpp|built' MNEME_JIT_PASSES='default<O2>'
// RUN: %{run} | cmp plain -
// RUN: %{report} | FileCheck %s --check-prefix=AGAIN
// AGAIN: served=2 fell_back=0 compiled=2
// RUN: echo '{"codegen_opt": 1}' > config.json
// REDEFINE: %{set} = MNEME_JIT_KERNELS='cpp|built' MNEME_JIT_PASSES='default<O2>' MNEME_JIT_CONFIG=config.json
// RUN: %{run} | cmp plain -
// RUN: %{report} | FileCheck %s --check-prefix=AGAIN
// RUN: echo '{"no_such_key": 1}' > config.json
// RUN: %{run} 2>&1 | FileCheck %s --check-prefix=BAD-CONFIG
// BAD-CONFIG: mneme: warning: '{{cpp|built}}': does not compile: {{.*}}'no_such_key'
// BAD-CONFIG: cpp 0: 1 59
// REDEFINE: %{set} = MNEME_JIT_KERNELS='cpp|built' MNEME_JIT_PASSES=no-such-pass
// RUN: %{run} 2>&1 | FileCheck %s --check-prefix=BAD-PASSES
// BAD-PASSES: mneme: warning: '{{cpp|built}}': does not compile: {{.*}}'no-such-pass'
// BAD-PASSES: cpp 0: 1 59
//
// Mode async: the source is waited for, as there is no other code. Its kernels run as compiled until their code is ready. Mode cached:
// nothing is compiled.
// REDEFINE: %{set} = MNEME_JIT_KERNELS='mlir|built' MNEME_JIT_MODE=async
// RUN: %{run} | cmp plain -
// RUN: %{report} | FileCheck %s --check-prefix=ASYNC
// ASYNC: served={{0|1|2}} fell_back={{0|1|2}}
// REDEFINE: %{set} = MNEME_JIT_KERNELS='^ir$' MNEME_JIT_PASSES='default<O1>' MNEME_JIT_MODE=cached
// RUN: %{run} | cmp plain -
// RUN: %{report} | FileCheck %s --check-prefix=CACHED
// CACHED: served=1 fell_back=0 compiled=0 from_cache=1
//
// Annotations in the text.
// REDEFINE: %{set} = MNEME_JIT_PASSES='default<O3>'
// REDEFINE: %{args} = '-DMARK=__attribute__((annotate("jit",2,3)))' cpp instance
// RUN: %{run} | FileCheck %s --check-prefix=MARKED
// MARKED: cpp 0: 1 59
// MARKED-NEXT: instance 0: 1 59
// RUN: %{report} cpp | FileCheck %s --check-prefix=CONSTANT
// RUN: %{report} 'void instance' | FileCheck %s --check-prefix=CONSTANT
// CONSTANT: arg 2 = 64, arg 3 = 200, block.x = 128: 1 served
//
// Proteus' file of tuned kernels.
// RUN: echo '{"cpp": {"SpecializeArgs": false, "Pipeline": "default<O1>"}}' > tuned.json
// REDEFINE: %{set} = PROTEUS_TUNED_KERNELS=tuned.json
// RUN: %{run} | FileCheck %s --check-prefix=MARKED
// RUN: %{report} cpp | FileCheck %s --check-prefix=TUNED
// TUNED: host kernel cpp
// TUNED-NEXT: block.x = 128: 1 served
// RUN: %{report} 'void instance' | FileCheck %s --check-prefix=CONSTANT

#include "Inputs/frontends.h"

int main(int argc, char **argv) { return launchKernels(argc, argv); }
