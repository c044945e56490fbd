// As much of HIP as the tests need: clang -x hip -nogpuinc -nogpulib -fdeclspec
// -include minihip.h. Nothing of ROCm.
#ifndef MINIHIP_H
#define MINIHIP_H

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))

using size_t = decltype(sizeof(0));

struct dim3 {
  unsigned x, y, z;
  __host__ __device__ constexpr dim3(unsigned X = 1, unsigned Y = 1,
                                     unsigned Z = 1)
      : x(X), y(Y), z(Z) {}
};

enum hipError_t : int { hipSuccess = 0 };
using hipStream_t = struct ihipStream_t *;

extern "C" {
// Clang emits calls of these three for <<<>>>.
hipError_t hipLaunchKernel(const void *, dim3, dim3, void **, size_t,
                           hipStream_t);
hipError_t __hipPushCallConfiguration(dim3, dim3, size_t = 0,
                                      hipStream_t = nullptr);
hipError_t __hipPopCallConfiguration(dim3 *, dim3 *, size_t *, hipStream_t *);
hipError_t hipMalloc(void **, size_t);
hipError_t hipFree(void *);
hipError_t hipDeviceSynchronize();
hipError_t hipLaunchCooperativeKernel(const void *, dim3, dim3, void **,
                                      unsigned, hipStream_t);
}

// threadIdx and its like: objects whose members are calls of builtins.
#define MINIHIP_GETTER(MEMBER, VALUE)                                          \
  __device__ static unsigned get_##MEMBER() { return VALUE; }                  \
  __declspec(property(get = get_##MEMBER)) unsigned MEMBER;

struct MiniHipThreadIdx {
  MINIHIP_GETTER(x, __builtin_amdgcn_workitem_id_x())
  MINIHIP_GETTER(y, __builtin_amdgcn_workitem_id_y())
  MINIHIP_GETTER(z, __builtin_amdgcn_workitem_id_z())
};
struct MiniHipBlockIdx {
  MINIHIP_GETTER(x, __builtin_amdgcn_workgroup_id_x())
  MINIHIP_GETTER(y, __builtin_amdgcn_workgroup_id_y())
  MINIHIP_GETTER(z, __builtin_amdgcn_workgroup_id_z())
};
struct MiniHipBlockDim {
  MINIHIP_GETTER(x, __builtin_amdgcn_workgroup_size_x())
  MINIHIP_GETTER(y, __builtin_amdgcn_workgroup_size_y())
  MINIHIP_GETTER(z, __builtin_amdgcn_workgroup_size_z())
  __device__ operator dim3() const { return {x, y, z}; }
};
#undef MINIHIP_GETTER

static constexpr __device__ MiniHipThreadIdx threadIdx{};
static constexpr __device__ MiniHipBlockIdx blockIdx{};
static constexpr __device__ MiniHipBlockDim blockDim{};

static inline __device__ void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

#endif // MINIHIP_H
