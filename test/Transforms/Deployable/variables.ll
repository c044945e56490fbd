; Variables of the application are reached through slots, constants stay, and
; __constant__ variables stay without contents, which the loader copies.
; RUN: mneme-pass-opt --passes=mneme-deployable -S %s | FileCheck %s

target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

; CHECK-NOT: @counter
; CHECK: @factor = addrspace(4) externally_initialized constant i32 0, align 4
; CHECK-NEXT: @baked = internal addrspace(1) constant i32 4
; CHECK-NOT: @array
; CHECK: @llvm.compiler.used = appending global [1 x ptr] [ptr addrspacecast (ptr addrspace(4) @factor to ptr)]
; CHECK: @__mneme_variables = addrspace(4) externally_initialized global [3 x ptr addrspace(1)] zeroinitializer, align 8
@counter = addrspace(1) externally_initialized global i32 7, align 4
@factor = addrspace(4) externally_initialized constant i32 3, align 4
@baked = internal addrspace(1) constant i32 4, align 4
@array = addrspace(1) externally_initialized global [8 x i64] zeroinitializer, align 16
@pointer = addrspace(1) externally_initialized global ptr addrspacecast (ptr addrspace(1) @counter to ptr), align 8
@llvm.compiler.used = appending global [2 x ptr] [ptr addrspacecast (ptr addrspace(1) @counter to ptr), ptr addrspacecast (ptr addrspace(4) @factor to ptr)], section "llvm.metadata"
@alias = alias i32, ptr addrspace(1) @counter

; The pass cannot know that two slots differ.
; CHECK-LABEL: define i32 @callee(i1 %c)
; CHECK: entry:
; CHECK-NEXT: [[COUNTER:%.*]] = load ptr addrspace(1), ptr addrspace(4) @__mneme_variables, align 8, !invariant.load ![[NONE:[0-9]+]], !nonnull ![[NONE]], !dereferenceable ![[FOUR:[0-9]+]], !align ![[FOUR]]
; CHECK: [[PHI:%.*]] = phi ptr addrspace(1) [ [[COUNTER]], %entry ], [ [[COUNTER]], %other ]
define i32 @callee(i1 %c) {
entry:
  br i1 %c, label %join, label %other
other:
  br label %join
join:
  %p = phi ptr addrspace(1) [ @counter, %entry ], [ @alias, %other ]
  %v = load i32, ptr addrspace(1) %p
  ret i32 %v
}

; CHECK-LABEL: define ptx_kernel void @kernel(
; CHECK: %local = alloca i32
; CHECK-NEXT: [[POINTER:%.*]] = load ptr addrspace(1), ptr addrspace(4) getelementptr inbounds ([3 x ptr addrspace(1)], ptr addrspace(4) @__mneme_variables, i64 0, i64 2),
; CHECK-NEXT: [[ARRAY:%.*]] = load ptr addrspace(1), ptr addrspace(4) getelementptr inbounds ([3 x ptr addrspace(1)], ptr addrspace(4) @__mneme_variables, i64 0, i64 1), {{.*}}, !dereferenceable ![[SIZE:[0-9]+]], !align ![[SIXTEEN:[0-9]+]]
; CHECK-NEXT: {{.*}}load ptr addrspace(1), ptr addrspace(4) @__mneme_variables,
; CHECK: [[CAST:%.*]] = addrspacecast ptr addrspace(1) [[ARRAY]] to ptr
; CHECK-NEXT: getelementptr {{.*}} [[CAST]], i64 24
define ptx_kernel void @kernel(ptr %out, i1 %c) {
  %local = alloca i32
  %a = load i32, ptr addrspacecast (ptr addrspace(1) @counter to ptr)
  %e = load i64, ptr getelementptr (i8, ptr addrspacecast (ptr addrspace(1) @array to ptr), i64 24)
  %p = load ptr, ptr addrspace(1) @pointer
  %f = load i32, ptr addrspace(4) @factor
  %b = load i32, ptr addrspace(1) @baked
  %v = call i32 @callee(i1 %c)
  %s1 = add i32 %a, %f
  %s2 = add i32 %s1, %b
  %s3 = add i32 %s2, %v
  store i32 %s3, ptr %out
  store i64 %e, ptr %p
  ret void
}

; CHECK: !mneme.slots = !{![[C:[0-9]+]], ![[A:[0-9]+]], ![[P:[0-9]+]]}
; CHECK-DAG: ![[C]] = !{!"counter", i64 4}
; CHECK-DAG: ![[A]] = !{!"array", i64 64}
; CHECK-DAG: ![[P]] = !{!"pointer", i64 8}
; CHECK-DAG: ![[FOUR]] = !{i64 4}
; CHECK-DAG: ![[SIXTEEN]] = !{i64 16}
; CHECK-DAG: ![[SIZE]] = !{i64 64}
!mneme.variables = !{!0}
!0 = !{!"counter", i64 4, i64 4, i64 1, i64 0}
