; Bytes that are known: scalars of any size, parts of structs, arrays and objects that arguments point to. Pointers stay as they are.
; RUN: mneme-pass-opt -S %s -passes='mneme-specialize<kernel=scalars;value0=0700000000000000000000000000008a;value1=0000c03f00000040>' \
; RUN:   | FileCheck %s --check-prefix=SCALARS
; RUN: mneme-pass-opt -S %s -passes='mneme-specialize<kernel=struct;value0=07000000;value0@8=000000000000f83f>,sroa,dce' \
; RUN:   | FileCheck %s --check-prefix=STRUCT
; RUN: mneme-pass-opt -S %s -passes='mneme-specialize<kernel=array;pointee0=0100000002000000>' \
; RUN:   | FileCheck %s --check-prefix=ARRAY
; RUN: mneme-pass-opt -S %s -passes='mneme-specialize<kernel=object;pointee0@4=09000000>' | FileCheck %s --check-prefix=OBJECT
;
; What does not fit is left alone.
; RUN: mneme-pass-opt -S %s -passes='mneme-specialize<value0=07;pointee0=01;value0@18446744073709551615=0101;value7=01>' \
; RUN:   | FileCheck %s --check-prefix=OTHER
; RUN: not mneme-pass-opt -S %s -passes='mneme-specialize<value0=0g>' 2>&1 | FileCheck %s --check-prefix=BAD -DPARAM=value0=0g
; RUN: not mneme-pass-opt -S %s -passes='mneme-specialize<pointee0=>' 2>&1 | FileCheck %s --check-prefix=BAD -DPARAM=pointee0=
; BAD: invalid mneme-specialize pass parameter '[[PARAM]]'

target triple = "nvptx64-nvidia-cuda"

; SCALARS-LABEL: @scalars(
; SCALARS-NEXT: store volatile i128 -{{[0-9]+}}, ptr null
; SCALARS-NEXT: store volatile <2 x float> <float 1.500000e+00, float 2.000000e+00>, ptr null
; OTHER-LABEL: @scalars(
; OTHER-NEXT: store volatile i128 %i, ptr null
define ptx_kernel void @scalars(i128 %i, <2 x float> %v) {
  store volatile i128 %i, ptr null
  store volatile <2 x float> %v, ptr null
  ret void
}

%s = type { i32, i32, double }

; STRUCT-LABEL: @struct(
; STRUCT: store volatile i32 7, ptr null
; STRUCT-NEXT: store volatile i32 %{{.*}}, ptr null
; STRUCT-NEXT: store volatile double 1.500000e+00, ptr null
define ptx_kernel void @struct(ptr byval(%s) %p) {
  %a = load i32, ptr %p
  %q = getelementptr %s, ptr %p, i64 0, i32 1
  %b = load i32, ptr %q
  %r = getelementptr %s, ptr %p, i64 0, i32 2
  %c = load double, ptr %r
  store volatile i32 %a, ptr null
  store volatile i32 %b, ptr null
  store volatile double %c, ptr null
  ret void
}

; Elements before and behind those that are known are loaded, and so are volatile ones.
; ARRAY-LABEL: @array(
; ARRAY: store volatile i32 2, ptr null
; ARRAY: %b = load i32, ptr %r
; ARRAY-NEXT: store volatile i32 %b, ptr null
; ARRAY: %c = load i32, ptr %s
; ARRAY: %d = load volatile i32, ptr %p
; ARRAY: store volatile ptr %p, ptr null
define ptx_kernel void @array(ptr %p) {
  %q = getelementptr i32, ptr %p, i64 1
  %a = load i32, ptr %q
  store volatile i32 %a, ptr null
  %r = getelementptr i32, ptr %p, i64 2
  %b = load i32, ptr %r
  store volatile i32 %b, ptr null
  %s = getelementptr i32, ptr %p, i64 -1
  %c = load i32, ptr %s
  store volatile i32 %c, ptr null
  %d = load volatile i32, ptr %p
  store volatile i32 %d, ptr null
  store volatile ptr %p, ptr null
  ret void
}

; Loads that are only partly known remain.
; OBJECT-LABEL: @object(
; OBJECT: load i64, ptr %p
; OBJECT-NOT: load i32
; OBJECT: store volatile i32 9, ptr null
define ptx_kernel void @object(ptr %p) {
  %a = load i64, ptr %p
  %q = getelementptr i8, ptr %p, i64 4
  %b = load i32, ptr %q
  store volatile i64 %a, ptr null
  store volatile i32 %b, ptr null
  ret void
}
