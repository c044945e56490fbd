# make-rocm.sh CLANG FOLDER INSTRUMENT: a stand-in for ROCm 5 in FOLDER, with the header and the runtime of
# INSTRUMENT/Inputs, and device libraries without the files that clang looks for.
set -e
mkdir -p "$2/include/hip/amd_detail" "$2/lib" "$2/amdgcn/bitcode"
cp "$3/Inputs/minihip.h" "$2/include"
echo '#include <minihip.h>' > "$2/include/hip/hip_runtime.h"
cat > "$2/include/hip/hip_version.h" <<'EOF'
#define HIP_VERSION_MAJOR 5
#define HIP_VERSION_MINOR 2
#define HIP_VERSION_PATCH 3
EOF
cat > "$2/include/hip/amd_detail/device_library_decls.h" <<'EOF'
typedef unsigned __cl_mem_fence_flags;
typedef enum __memory_scope { __memory_scope_work_group = 1, __memory_scope_device, __memory_scope_all_svm_devices,
                              __memory_scope_sub_group } __memory_scope;
typedef enum __memory_order { __memory_order_seq_cst = 5 } __memory_order;
extern "C" __attribute__((device)) void __atomic_work_item_fence(__cl_mem_fence_flags, __memory_order, __memory_scope);
EOF
"$1" -shared -fPIC "$3/Inputs/minihip.cpp" -o "$2/lib/libamdhip64.so"
library() {
  printf 'target triple = "amdgcn-amd-amdhsa"\n%s\n' "$3" |
    "$1" -target amdgcn-amd-amdhsa -nogpulib -x ir - -c -emit-llvm -w -o "$2.bc"
}
cd "$2/amdgcn/bitcode"
for name in ockl opencl oclc_daz_opt_off oclc_unsafe_math_on oclc_unsafe_math_off oclc_finite_only_on oclc_finite_only_off \
            oclc_wavefrontsize64_on oclc_wavefrontsize64_off oclc_correctly_rounded_sqrt_on \
            oclc_correctly_rounded_sqrt_off; do
  library "$1" $name ""
done
# What the numbers are that the libraries get.
library "$1" ocml '
@__oclc_ISA_version = external addrspace(4) constant i32
@__oclc_ABI_version = external addrspace(4) constant i32
@__oclc_daz_opt = external addrspace(4) constant i8
define i32 @__ocml_test(i32 %which) {
  %isa = load i32, ptr addrspace(4) @__oclc_ISA_version
  %abi = load i32, ptr addrspace(4) @__oclc_ABI_version
  %flush = load i8, ptr addrspace(4) @__oclc_daz_opt
  %wide = zext i8 %flush to i32
  %first = icmp eq i32 %which, 0
  %second = icmp eq i32 %which, 1
  %number = select i1 %first, i32 %isa, i32 %abi
  %any = select i1 %second, i32 %abi, i32 %wide
  %r = select i1 %first, i32 %number, i32 %any
  ret i32 %r
}'
