; Each kernel pays only for what it reaches, and dynamic shared memory starts behind.
; RUN: mneme-pass-opt -passes=mneme-host-shared -S %s | FileCheck %s
target triple = "x86_64-unknown-linux-gnu"

; CHECK-NOT: addrspace(3) global
@common = internal addrspace(3) global [5 x i8] undef
@first = internal addrspace(3) global [100 x float] undef, align 4
@second = internal addrspace(3) global i64 undef, align 64
@dynamic = external addrspace(3) global [0 x i32]

; CHECK-LABEL: @device(
define void @device() {
; CHECK: %[[S:.*]] = call ptr @mneme.host.shared()
; CHECK: %common = getelementptr inbounds i8, ptr %[[S]], i32 0
  store i8 1, ptr addrspace(3) @common
  ret void
}

; CHECK: define void @one() #[[ONE:[0-9]+]]
define void @one() "mneme-kernel" {
  call void @device()
; CHECK: %first = getelementptr inbounds i8, ptr %{{.*}}, i32 16
  store float 1.0, ptr addrspace(3) @first
; CHECK: %[[D:.*]] = call i32 @mneme.host.dynshared()
; CHECK: %dynamic = getelementptr inbounds i8, ptr %{{.*}}, i32 %[[D]]
  store i32 1, ptr addrspacecast (ptr addrspace(3) @dynamic to ptr)
  ret void
}

; CHECK: define void @two(i1 %c) #[[TWO:[0-9]+]]
define void @two(i1 %c) "mneme-kernel" {
entry:
  br i1 %c, label %a, label %b
a:
; CHECK: a:
; CHECK: %second = getelementptr inbounds i8, ptr %{{.*}}, i32 64
; CHECK: %[[P:.*]] = addrspacecast ptr %second to ptr addrspace(3)
  br label %b
b:
; CHECK: phi ptr addrspace(3) [ %[[P]], %a ], [ null, %entry ]
  %p = phi ptr addrspace(3) [ @second, %a ], [ null, %entry ]
  store i64 1, ptr addrspace(3) %p
  ret void
}
; 16 + 400, and 64 + 8, in units of 128.
; CHECK: attributes #[[ONE]] = {{.*}}"mneme-static-shared"="512"
; CHECK: attributes #[[TWO]] = {{.*}}"mneme-static-shared"="128"
