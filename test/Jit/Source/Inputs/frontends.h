// A kernel in each language that a program can compile at run time: cpp, instance<unsigned>, ir, mlir and built. All do the same,
// which takes much less time if the modulus is known to be a power of two.

#include <cstdio>
#include <mneme/jit_builder.h>
#include <vector>

using ScaleSig = void(unsigned *, unsigned, unsigned, int);

inline const char *CppText = R"(
#ifndef MARK
#define MARK
#endif
template <typename T> __device__ void scale(T *X, T Modulus, T Rounds, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I >= N)
    return;
  T V = X[I];
  for (T K = 0; K < Rounds; ++K)
    V = (V * 17 + K) % Modulus;
  X[I] = V;
}
extern "C" __global__ MARK void cpp(unsigned *X, unsigned Modulus, unsigned Rounds, int N) { scale(X, Modulus, Rounds, N); }
template <typename T> __global__ MARK void instance(T *X, T Modulus, T Rounds, int N) { scale(X, Modulus, Rounds, N); }
)";

inline const char *IRText = R"(
define ptx_kernel void @ir(ptr %x, i32 %modulus, i32 %rounds, i32 %n) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %threads = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %first = mul i32 %block, %threads
  %i = add i32 %first, %tid
  %inside = icmp slt i32 %i, %n
  %p = getelementptr i32, ptr %x, i32 %i
  br i1 %inside, label %begin, label %end
begin:
  %v0 = load i32, ptr %p
  br label %loop
loop:
  %k = phi i32 [ 0, %begin ], [ %next, %loop ]
  %v = phi i32 [ %v0, %begin ], [ %r, %loop ]
  %m = mul i32 %v, 17
  %s = add i32 %m, %k
  %r = urem i32 %s, %modulus
  %next = add i32 %k, 1
  %more = icmp ult i32 %next, %rounds
  br i1 %more, label %loop, label %done
done:
  store i32 %r, ptr %p
  br label %end
end:
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
)";

inline const char *MLIRText = R"(
module attributes {gpu.container_module} {
  gpu.module @m {
    gpu.func @mlir(%x: !llvm.ptr, %modulus: i32, %rounds: i32, %n: i32) kernel {
      %tid = gpu.thread_id x
      %block = gpu.block_id x
      %threads = gpu.block_dim x
      %first = arith.muli %block, %threads : index
      %at = arith.addi %first, %tid : index
      %i = arith.index_cast %at : index to i32
      %inside = arith.cmpi slt, %i, %n : i32
      scf.if %inside {
        %p = llvm.getelementptr %x[%i] : (!llvm.ptr, i32) -> !llvm.ptr, i32
        %v0 = llvm.load %p : !llvm.ptr -> i32
        %zero = arith.constant 0 : i32
        %one = arith.constant 1 : i32
        %factor = arith.constant 17 : i32
        %last = scf.for %k = %zero to %rounds step %one iter_args(%v = %v0) -> (i32) : i32 {
          %m = arith.muli %v, %factor : i32
          %s = arith.addi %m, %k : i32
          %r = arith.remui %s, %modulus : i32
          scf.yield %r : i32
        }
        llvm.store %last, %p : i32, !llvm.ptr
      }
      gpu.return
    }
  }
}
)";

/// Builds the kernel.
inline auto addBuilt(mneme::builder::Module &M) {
  using namespace mneme::builder;
  auto Kernel = M.addKernel<ScaleSig>("built");
  auto &F = Kernel.F;
  F.function([&] {
    auto &X = F.getArg<0>();
    auto &N = F.getArg<3>();
    auto I = F.convert<int>(F.callBuiltin(builtins::gpu::getBlockIdX) * F.callBuiltin(builtins::gpu::getBlockDimX) +
                            F.callBuiltin(builtins::gpu::getThreadIdX));
    F.ifThen(I >= N, [&] { F.ret(); });
    auto V = F.defVar<unsigned>(X[I]);
    auto K = F.declVar<unsigned>(), Zero = F.defVar<unsigned>(0), One = F.defVar<unsigned>(1);
    F.forLoop(K, Zero, F.getArg<2>(), One, [&] { V = (V * 17u + K) % F.getArg<1>(); });
    X[I] = V;
    F.ret();
  });
  return Kernel;
}

/// Launches the kernels that are named, or all, each on memory of its own, and prints results.
inline int launchKernels(int argc, char **argv) {
  using namespace mneme;
  std::vector<std::string> Options;
  for (; argc > 1 && *argv[1] == '-'; --argc, ++argv)
    Options.push_back(argv[1]);
  jit_module Cpp(jit_target::cuda, CppText, Options), IR(jit_target::cuda, IRText, {}, jit_language::llvm_ir),
      MLIR(jit_target::cuda, MLIRText, {}, jit_language::mlir);
  builder::Module Builder(jit_target::cuda);
  auto Built = addBuilt(Builder);
  auto Run = [&](const std::string &Name, auto Launch) {
    bool IsSelected = argc == 1;
    for (int I = 1; I < argc; ++I)
      IsSelected |= Name == argv[I];
    if (!IsSelected)
      return;
    const int N = 4096;
    static unsigned Host[N];
    for (int I = 0; I < N; ++I)
      Host[I] = I;
    unsigned *X;
    cudaMalloc(&X, sizeof(Host));
    cudaMemcpy(X, Host, sizeof(Host), cudaMemcpyHostToDevice);
    int Error = Launch(X, 64u, 200u, N);
    cudaMemcpy(Host, X, sizeof(Host), cudaMemcpyDeviceToHost);
    cudaFree(X);
    std::printf("%s %d: %u %u\n", Name.c_str(), Error, Host[5], Host[N - 1]);
  };
  auto Find = [&](jit_module &M, const char *Name) {
    return [&M, Name](auto... Args) { return M.kernel<ScaleSig>(Name).launch(32, 128, 0, nullptr, Args...); };
  };
  Run("cpp", Find(Cpp, "cpp"));
  Run("instance",
      [&](auto... Args) { return Cpp.instantiate("instance", "unsigned").launch(32, 128, 0, nullptr, Args...); });
  Run("ir", Find(IR, "ir"));
  Run("mlir", Find(MLIR, "mlir"));
  Run("built", [&](auto... Args) { return int(Built.launch(32, 128, 0, nullptr, Args...)); });
  std::printf("%s%s%s%s", Cpp.error().c_str(), IR.error().c_str(), MLIR.error().c_str(), Builder.error().c_str());
  return 0;
}
