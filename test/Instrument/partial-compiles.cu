// Compiles of one side only.
// REQUIRES: cuda-toolkit, nvptx-registered-target
// DEFINE: %{plain} = env TMPDIR=%t/tmp %cuda_cc_plain -Wno-unused-command-line-argument
// DEFINE: %{cc} = %{plain} -fpass-plugin=%mneme_pass
// RUN: rm -rf %t && mkdir -p %t/tmp

// The host alone: a warning, once, for a program that will launch kernels.
// RUN: %{plain} -Xarch_host -fpass-plugin=%mneme_pass -c %s -o %t/host.o 2>&1 | FileCheck %s --check-prefix=HOST
// No warning for one that cannot, or for variables: they lose no more than names.
// RUN: %{cc} --offload-host-only -c %s -o %t/host.o 2>&1 | count 0
// RUN: %{plain} -Xarch_host -fpass-plugin=%mneme_pass -DVARIABLE -c %s -o %t/host.o 2>&1 | count 0

// The device alone, or a compile that fails: the next compile removes what is left.
// RUN: %{cc} --offload-device-only -S %s -o %t/device.s
// RUN: not %{cc} -DBROKEN -c %s -o %t/broken.o
// RUN: %{cc} -c %s -o %t/whole.o
// RUN: ls -A %t/tmp/mneme-* | count 0
// RUN: llvm-mneme-record list-kernels %t/whole.o | FileCheck %s --check-prefix=WHOLE

// A command line so long that the driver hands it on in a file.
// RUN: %python -c "print(' '.join('-DMNEME_LONG_%%d=%%s' %% (I, 'x' * 1000) for I in range(400)))" > %t/long.rsp
// RUN: %{cc} @%t/long.rsp -c %s -o %t/long.o
// RUN: llvm-mneme-record list-kernels %t/long.o | FileCheck %s --check-prefix=WHOLE

// Several architectures in one compile, one payload each.
// RUN: %{cc} --offload-arch=sm_80 -c %s -o %t/two.o
// RUN: llvm-mneme-record list-kernels %t/two.o | FileCheck %s --check-prefix=TWO

// HOST:  warning: mneme: found no device code for 1 kernel of '{{.*}}partial-compiles.cu'
// HOST-NOT: warning: mneme
// WHOLE: 1 kernel
// TWO:   2 kernels
// TWO-DAG: target: sm_80
// TWO-DAG: target: sm_90

#ifdef VARIABLE
__device__ int variable;
int *address = &variable;
#else
extern "C" __global__ void kernel(int *P) { *P = 1; }
#endif
#if defined(BROKEN) && !defined(__CUDA_ARCH__)
#error broken on the host only
#endif
