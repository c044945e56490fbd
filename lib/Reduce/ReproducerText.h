//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The constant parts of a reproducer's programs. @NAME@ stands for what
/// depends on the launch.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_REDUCE_REPRODUCERTEXT_H
#define LLVM_MNEME_LIB_REDUCE_REPRODUCERTEXT_H

namespace llvm {
namespace mneme {

/// memory.h, which the programs include: tables, and the comparison of memory.
inline constexpr char ReproducerMemory[] =
    R"cpp(// The memory of the launch, and its comparison.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using Bytes = std::vector<char>;

// Memory of the launch, sorted. It has to be at these addresses: the arguments
// and the memory contain pointers.
struct Buffer {
  int Number;
  uint64_t Address, Size;
  const char *Variable; // in the kernel's module; null: none
  bool HasBefore;       // data/NUMBER.before; otherwise zeros
  bool HasAfter;        // data/NUMBER.after; otherwise unchanged
};
static const Buffer Buffers[] = {
@BUFFERS@};

// Elements to compare.
struct Part {
  int Buffer; // index in Buffers
  uint64_t Offset, Size;
  const char *Type;
  unsigned ElementSize;
  uint64_t Infinity; // its bits, if NaNs are equal; otherwise 0
  double Tolerance;  // -1: none
  bool IsRelative;
};
static const Part Parts[] = {
@PARTS@};

static uint64_t roundDown(uint64_t N, uint64_t Unit) { return N / Unit * Unit; }
static uint64_t roundUp(uint64_t N, uint64_t Unit) {
  return roundDown(N + Unit - 1, Unit);
}

static Bytes readFile(const std::string &Path) {
  std::ifstream File(Path, std::ios::binary);
  if (!File) {
    std::printf("cannot read %s: run this program in its folder\n", Path.c_str());
    std::exit(2);
  }
  return Bytes(std::istreambuf_iterator<char>(File), {});
}

static Bytes readContents(const Buffer &B, bool After) {
  bool IsAfter = After && B.HasAfter;
  if (!IsAfter && !B.HasBefore)
    return Bytes(B.Size);
  std::string Path =
      "data/" + std::to_string(B.Number) + (IsAfter ? ".after" : ".before");
  Bytes Contents = readFile(Path);
  if (Contents.size() == B.Size)
    return Contents;
  std::printf("%s has another size than its buffer\n", Path.c_str());
  std::exit(2);
}

static double toDouble(uint64_t Bits, const Part &P) {
  uint32_t Low = Bits;
  float F;
  double D;
  std::memcpy(&F, &Low, sizeof(F));
  std::memcpy(&D, &Bits, sizeof(D));
  return P.ElementSize == 4 ? F : D;
}

static bool isNaN(uint64_t Bits, const Part &P) {
  return P.Infinity && (Bits & ~(1ull << (8 * P.ElementSize - 1))) > P.Infinity;
}

static bool isSame(uint64_t Expected, uint64_t Actual, const Part &P) {
  if (Expected == Actual || (isNaN(Expected, P) && isNaN(Actual, P)))
    return true;
  if (P.Tolerance < 0)
    return false;
  double E = toDouble(Expected, P), Error = std::fabs(toDouble(Actual, P) - E);
  return Error <= P.Tolerance * (P.IsRelative ? std::fabs(E) : 1);
}

static std::string print(uint64_t Bits, const Part &P) {
  char Text[40];
  int Unused = 64 - 8 * P.ElementSize;
  if (*P.Type == 'f' && P.ElementSize >= 4)
    std::snprintf(Text, sizeof(Text), "%.*g", P.ElementSize == 4 ? 9 : 17,
                  toDouble(Bits, P));
  else if (*P.Type == 'i')
    std::snprintf(Text, sizeof(Text), "%lld",
                  (long long)(Bits << Unused) >> Unused);
  else
    std::snprintf(Text, sizeof(Text), *P.Type == 'u' ? "%llu" : "0x%llx",
                  (unsigned long long)Bits);
  return Text;
}

static std::vector<Bytes> readAll(bool After) {
  std::vector<Bytes> All;
  for (const Buffer &B : Buffers)
    All.push_back(readContents(B, After));
  return All;
}

// Compares the memory after the launch, and returns the exit code.
static int compare(const std::vector<Bytes> &Contents,
                   const std::vector<Bytes> &Expected) {
  bool IsOk = true;
  for (const Part &P : Parts) {
    const Bytes &Wanted = Expected[P.Buffer];
    uint64_t Count = P.Size / P.ElementSize, Different = 0, First = 0;
    auto Get = [&](const Bytes &From, uint64_t I) {
      uint64_t Bits = 0;
      std::memcpy(&Bits, &From[P.Offset + I * P.ElementSize], P.ElementSize);
      return Bits;
    };
    const Bytes &Found = Contents[P.Buffer];
    for (uint64_t I = 0; I != Count; ++I)
      if (!isSame(Get(Wanted, I), Get(Found, I), P) && !Different++)
        First = I;
    if (!Different)
      continue;
    IsOk = false;
    std::printf("buffer %d: %llu of %llu %s elements differ, first at %llu: %s "
                "instead of %s\n",
                Buffers[P.Buffer].Number, (unsigned long long)Different,
                (unsigned long long)Count, P.Type, (unsigned long long)First,
                print(Get(Found, First), P).c_str(),
                print(Get(Wanted, First), P).c_str());
  }
  if (IsOk)
    std::puts("ok");
  return IsOk ? 0 : 1;
}
)cpp";

/// A program for CUDA's driver. HIP's is made of it by renaming.
inline constexpr char ReproducerGPU[] =
    R"cpp(// Launches a GPU kernel and compares its memory with the expected one: README.md.
// main [IMAGE [REFERENCE]]   default: @IMAGE@
// REFERENCE leaves the expected memory; without it, data has that.
// Exit code: 0 as expected, 1 not as expected, 2 not run

#include "memory.h"
#include <@HEADER@>

static bool HasLaunched = false;

static void check(CUresult Code, const char *Call) {
  if (Code == CUDA_SUCCESS)
    return;
  const char *Name = "unknown error";
  cuGetErrorName(Code, &Name);
  std::printf("%s: %s\n", Call, Name);
  std::exit(HasLaunched ? 1 : 2);
}
#define CHECK(CALL) check(CALL, #CALL)

// Maps zeroed device memory at the addresses of the buffers.
static void mapBuffers() {
  CUmemAllocationProp Kind = {};
  Kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  Kind.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemAccessDesc Access = {};
  Access.location = Kind.location;
  Access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  size_t Granule = 0;
  CHECK(cuMemGetAllocationGranularity(&Granule, &Kind,
                                      CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  // Drivers reserve smaller ranges elsewhere than at the wanted address.
  constexpr uint64_t Unit = 32 << 20;
  for (const Buffer *B = Buffers; B != std::end(Buffers);) {
    uint64_t Begin = roundDown(B->Address, Unit), End = Begin;
    for (; B != std::end(Buffers) && roundDown(B->Address, Unit) <= End; ++B)
      End = std::max(End, roundUp(B->Address + B->Size, Unit));
    CUdeviceptr At = 0;
    CHECK(cuMemAddressReserve(&At, End - Begin, 0, (CUdeviceptr)Begin, 0));
    if (At != (CUdeviceptr)Begin) {
      std::printf("the driver cannot reserve 0x%llx to 0x%llx\n",
                  (unsigned long long)Begin, (unsigned long long)End);
      std::exit(2);
    }
  }
  uint64_t Mapped = 0; // the end of what is mapped
  for (const Buffer &B : Buffers) {
    uint64_t Begin = std::max(roundDown(B.Address, Granule), Mapped);
    uint64_t End = roundUp(B.Address + B.Size, Granule);
    if (Begin >= End)
      continue;
    CUdeviceptr At = (CUdeviceptr)Begin;
    CUmemGenericAllocationHandle Memory;
    CHECK(cuMemCreate(&Memory, End - Begin, &Kind, 0));
    CHECK(cuMemMap(At, End - Begin, 0, Memory, 0));
    CHECK(cuMemSetAccess(At, End - Begin, &Access, 1));
    CHECK(cuMemsetD8Async(At, 0, End - Begin, nullptr));
    Mapped = End;
  }
}

// Returns the memory after the launch.
static std::vector<Bytes> run(const char *Path, bool IsReference) {
  Bytes Image = readFile(Path);
  CUmodule Module;
  CUfunction Kernel;
  CHECK(cuModuleLoadData(&Module, Image.data()));
  CHECK(cuModuleGetFunction(&Kernel, Module, @KERNEL@));
  std::vector<Bytes> Before = readAll(/*After=*/false);
  for (const Buffer &B : Buffers)
    CHECK(cuMemcpyHtoD((CUdeviceptr)B.Address, Before[&B - Buffers].data(),
                       B.Size));

  // Variables have addresses of their own in the module, or no use there.
  std::vector<CUdeviceptr> Variables;
  for (const Buffer &B : Buffers) {
    CUdeviceptr At = 0;
    size_t Size = 0;
    if (!B.Variable ||
        cuModuleGetGlobal(&At, &Size, Module, B.Variable) != CUDA_SUCCESS)
      At = 0;
    Variables.push_back(At);
    if (At)
      CHECK(cuMemcpyDtoDAsync(At, (CUdeviceptr)B.Address,
                              std::min<uint64_t>(Size, B.Size), nullptr));
  }

  Bytes Arguments = readFile("data/arguments");
  size_t Size = Arguments.size();
  void *Extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, Arguments.data(),
                   CU_LAUNCH_PARAM_BUFFER_SIZE, &Size, CU_LAUNCH_PARAM_END};
@ATTRIBUTE@  CHECK(cuLaunchKernel(Kernel, @GRID@, @BLOCK@, @SHARED@, nullptr, nullptr,
                       Extra));
  HasLaunched = !IsReference;
  CHECK(cuCtxSynchronize());

  std::vector<Bytes> Contents;
  for (const Buffer &B : Buffers) {
    CUdeviceptr Variable = Variables[&B - Buffers];
    Contents.emplace_back(B.Size);
    CHECK(cuMemcpyDtoH(Contents.back().data(),
                       Variable ? Variable : (CUdeviceptr)B.Address, B.Size));
  }
  return Contents;
}

int main(int argc, char **argv) {
  CUdevice Device;
  CUcontext Context;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&Device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&Context, Device));
  CHECK(cuCtxSetCurrent(Context));
  mapBuffers();
  std::vector<Bytes> Expected =
      argc > 2 ? run(argv[2], true) : readAll(/*After=*/true);
  return compare(run(argc > 1 ? argv[1] : "@IMAGE@", false), Expected);
}
)cpp";

/// Renames ReproducerGPU for HIP, in this order.
struct ReproducerName {
  const char *Cuda, *Hip;
};
inline constexpr ReproducerName ReproducerNames[] = {
    {"  const char *Name = \"unknown error\";\n"
     "  cuGetErrorName(Code, &Name);\n",
     "  const char *Name = hipGetErrorName(Code);\n"},
    {"cuLaunchKernel", "hipModuleLaunchKernel"},
    {"  CHECK(cuDevicePrimaryCtxRetain(&Context, Device));\n"
     "  CHECK(cuCtxSetCurrent(Context));\n",
     "  CHECK(hipSetDevice(Device));\n"},
    {"  CUcontext Context;\n", ""},
    {"cuCtxSynchronize", "hipDeviceSynchronize"},
    {"CUDA_SUCCESS", "hipSuccess"},
    {"CU_MEM_ALLOCATION_TYPE_PINNED", "hipMemAllocationTypePinned"},
    {"CU_MEM_LOCATION_TYPE_DEVICE", "hipMemLocationTypeDevice"},
    {"CU_MEM_ACCESS_FLAGS_PROT_READWRITE", "hipMemAccessFlagsProtReadWrite"},
    {"CU_MEM_ALLOC_GRANULARITY_MINIMUM", "hipMemAllocationGranularityMinimum"},
    {"CU_LAUNCH_PARAM_", "HIP_LAUNCH_PARAM_"},
    {"CUresult", "hipError_t"},
    {"CUmodule", "hipModule_t"},
    {"CUfunction", "hipFunction_t"},
    {"CUdeviceptr", "hipDeviceptr_t"},
    {"CUdevice", "hipDevice_t"},
    {"CUmemGenericAllocationHandle", "hipMemGenericAllocationHandle_t"},
    {"CUmem", "hipMem"},
    {" cu", " hip"},
    {"(cu", "(hip"},
};

/// A program for the CPU.
inline constexpr char ReproducerCPU[] =
    R"cpp(// Runs a GPU kernel on the CPU, one thread after the other, and compares its
// memory with the expected one: README.md.
// Exit code: 0 as expected, 1 not as expected, 2 not run

#include "memory.h"
#include <sys/mman.h>
#include <unistd.h>

// Of support.ll.
extern "C" void runThread(const void *Arguments) __asm__("@RUN@");
extern unsigned Registers[12] __asm__("@REGISTERS@");
unsigned Registers[12]; // threadIdx, blockDim, blockIdx, gridDim

// The variables of Buffers, in the same order; null: without use in the code.
@VARIABLES@static void mapBuffers() {
  uint64_t Page = sysconf(_SC_PAGESIZE), Mapped = 0;
  for (const Buffer &B : Buffers) {
    uint64_t Begin = std::max(roundDown(B.Address, Page), Mapped);
    uint64_t End = roundUp(B.Address + B.Size, Page);
    if (Begin >= End)
      continue;
    void *At = mmap((void *)Begin, End - Begin, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (At != (void *)Begin) {
      std::printf("cannot map memory at 0x%llx\n", (unsigned long long)Begin);
      std::exit(2);
    }
    Mapped = End;
  }
}

int main() {
  mapBuffers();
  for (const Buffer &B : Buffers) {
    Bytes Before = readContents(B, /*After=*/false);
    std::memcpy((void *)B.Address, Before.data(), B.Size);
    if (char *Variable = Variables[&B - Buffers])
      std::memcpy(Variable, Before.data(), B.Size);
  }
  Bytes Arguments = readFile("data/arguments");
  const unsigned Block[] = {@BLOCK@}, Grid[] = {@GRID@};
  unsigned *Thread = Registers, *BlockIndex = Registers + 6;
  std::copy(Block, Block + 3, Registers + 3);
  std::copy(Grid, Grid + 3, Registers + 9);
  auto ForAll = [](unsigned *Index, const unsigned *End, auto Body) {
    for (Index[2] = 0; Index[2] != End[2]; ++Index[2])
      for (Index[1] = 0; Index[1] != End[1]; ++Index[1])
        for (Index[0] = 0; Index[0] != End[0]; ++Index[0])
          Body();
  };
  ForAll(BlockIndex, Grid, [&] {
    ForAll(Thread, Block, [&] { runThread(Arguments.data()); });
  });

  std::vector<Bytes> Contents;
  for (const Buffer &B : Buffers) {
    char *Variable = Variables[&B - Buffers];
    const char *From = Variable ? Variable : (const char *)B.Address;
    Contents.emplace_back(From, From + B.Size);
  }
  return compare(Contents, readAll(/*After=*/true));
}
)cpp";

/// Makes a GPU's IR that of a CPU: no target, and functions in place of
/// intrinsics. Flags that let a code generator round otherwise are removed,
/// since the pipeline has made use of them.
inline constexpr char ReproducerSed[] =
    R"sed(/^target (triple|datalayout)/d
s/@llvm\.nvvm\./@@PREFIX@/g
s/ptx_kernel //g
s/ externally_initialized constant / externally_initialized global /
s/"(target-cpu|target-features)"="[^"]*"/"gpu-\1"/g
:flags
s/ (fast|reassoc|contract|arcp|afn) / /
t flags
)sed";

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_REDUCE_REPRODUCERTEXT_H
