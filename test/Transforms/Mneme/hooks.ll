; Calls of the GPU runtime load their callee from a slot that a runtime may patch.
; RUN: mneme-pass-opt -passes=mneme-hooks -S %s | FileCheck %s
; RUN: mneme-pass-opt -passes='mneme-hooks,default<O3>' -S %s | FileCheck %s --check-prefix=OPT
; Once is enough.
; RUN: mneme-pass-opt -passes=mneme-hooks -S %s -o %t.once.ll
; RUN: mneme-pass-opt -passes=mneme-hooks,mneme-hooks -S %s | diff %t.once.ll -
; A module without calls of the runtime stays as it is.
; RUN: echo 'target triple = "x86_64-pc-linux-gnu"  declare i32 @cudaMalloc(ptr, i64)' > %t.none.ll
; RUN: mneme-pass-opt -passes=mneme-hooks -S %t.none.ll | FileCheck %s --check-prefix=NONE

target triple = "x86_64-pc-linux-gnu"

; NONE-NOT: mneme_hooks
; NONE-NOT: __mneme_attach

; CHECK-DAG: @mneme.hook.cudaMalloc = internal externally_initialized global { ptr, ptr } { ptr @cudaMalloc, ptr @[[NAME:.mneme.name[.0-9]*]] }, section "mneme_hooks", align 8
; CHECK-DAG: @[[NAME]] = private unnamed_addr constant [11 x i8] c"cudaMalloc\00"
; CHECK-DAG: @mneme.hook.hipFree = {{.*}} { ptr @hipFree,
; CHECK-DAG: @mneme.hook.__cudaPopCallConfiguration = {{.*}} { ptr @__cudaPopCallConfiguration,
; CHECK-DAG: @mneme.hook.__hipRegisterFatBinary = {{.*}} { ptr @__hipRegisterFatBinary,
; CHECK-DAG: @mneme.hook.cudaFree =
; CHECK-DAG: @mneme.hook.cudaFreeHost =
; CHECK-DAG: @mneme.hook.cudaAbort =
; Names that only look like it, functions of our own, ones that nothing calls.
; CHECK-NOT: @mneme.hook.{{(cudart|hippo|cuda |cudaOurs|cudaUnused|cudaMaybe|cuLaunchKernel)}}
; CHECK:     @llvm.compiler.used = appending global [8 x ptr]
; CHECK-NOT: @llvm.used
; CHECK:     @llvm.global_ctors = appending global [1 x {{.*}} { i32 0, ptr @mneme.attach, ptr null }

@table = constant [1 x ptr] [ptr @cudaFreeHost]

declare i32 @cudaMalloc(ptr, i64)
declare i32 @cudaFree(ptr)
declare i32 @cudaFreeHost(ptr)
declare i32 @cudaUnused()
declare extern_weak i32 @cudaMaybe()
declare void @cudaAbort() noreturn nounwind
declare i32 @hipFree(ptr) nounwind
declare i32 @__cudaPopCallConfiguration()
declare ptr @__hipRegisterFatBinary(ptr)
declare i32 @cudart()
declare i32 @hippo()
declare i32 @cuda()
declare i32 @cuLaunchKernel()
declare i32 @cuMemFree_v2()
declare i32 @__gxx_personality_v0(...)
define i32 @cudaOurs() {
  ret i32 0
}

; CHECK-LABEL: define i32 @calls(
; CHECK:         %[[F:.*]] = load ptr, ptr @mneme.hook.cudaMalloc, align 8
; CHECK-NEXT:    call i32 %[[F]](ptr nonnull %p, i64 4)
; CHECK:         %[[F:.*]] = load ptr, ptr @mneme.hook.hipFree
; CHECK-NEXT:    call i32 %[[F]](ptr %p) #[[NOUNWIND:[0-9]+]]
; CHECK:         call i32 @cudart()
; CHECK-NEXT:    call i32 @hippo()
; CHECK-NEXT:    call i32 @cuda()
; CHECK-NEXT:    call i32 @cuLaunchKernel()
; CHECK-NEXT:    call i32 @cudaOurs()
; What the driver gives out as memory, though.
; CHECK:         %[[F:.*]] = load ptr, ptr @mneme.hook.cuMemFree_v2
; CHECK-NEXT:    call i32 %[[F]]()
; OPT-LABEL:   define i32 @calls(
; OPT:           %[[F:.*]] = load ptr, ptr @mneme.hook.cudaMalloc, align 8
; OPT-NEXT:      call i32 %[[F]](ptr nonnull %p, i64 4)
define i32 @calls(ptr %p) {
  %1 = call i32 @cudaMalloc(ptr nonnull %p, i64 4)
  %2 = call i32 @hipFree(ptr %p)
  %3 = call i32 @__cudaPopCallConfiguration()
  %4 = call ptr @__hipRegisterFatBinary(ptr %p)
  %5 = call i32 @cudart()
  %6 = call i32 @hippo()
  %7 = call i32 @cuda()
  %8 = call i32 @cuLaunchKernel()
  %9 = call i32 @cudaOurs()
  %10 = call i32 @cuMemFree_v2()
  ret i32 %1
}

; CHECK-LABEL: define void @unwinds(
; CHECK:         %[[F:.*]] = load ptr, ptr @mneme.hook.cudaFree
; CHECK-NEXT:    invoke i32 %[[F]](ptr null)
; CHECK:         %[[F:.*]] = load ptr, ptr @mneme.hook.cudaAbort
; CHECK-NEXT:    call void %[[F]]() #[[NORETURN:[0-9]+]]
define void @unwinds() personality ptr @__gxx_personality_v0 {
  invoke i32 @cudaFree(ptr null) to label %ok unwind label %bad
ok:
  ret void
bad:
  %pad = landingpad { ptr, i32 } cleanup
  call void @cudaAbort()
  unreachable
}

; A function that is passed around is the one that a call would reach.
; CHECK-LABEL: define ptr @address(
; CHECK:         %[[A:.*]] = load ptr, ptr @mneme.hook.cudaFree
; CHECK-NEXT:    call void @take(ptr %[[A]])
; CHECK:         %[[B:.*]] = load ptr, ptr @mneme.hook.cudaFree
; CHECK-NEXT:    br label %join
; CHECK:         phi ptr [ %[[B]], %left ], [ null, %entry ]
; CHECK:         %[[C:.*]] = load ptr, ptr @mneme.hook.cudaFree
; CHECK-NEXT:    icmp eq ptr %f, %[[C]]
define ptr @address(i1 %c, ptr %f) {
entry:
  call void @take(ptr @cudaFree)
  br i1 %c, label %left, label %join
left:
  br label %join
join:
  %r = phi ptr [ @cudaFree, %left ], [ null, %entry ]
  %same = icmp eq ptr %f, @cudaFree
  call void @takebool(i1 %same)
  ret ptr %r
}

; But one that an initializer holds must keep its identity; its calls need not.
; CHECK-LABEL: define i1 @fixed(
; CHECK:         call i32 %{{.*}}(ptr null)
; CHECK-NEXT:    icmp eq ptr %f, @cudaFreeHost
define i1 @fixed(ptr %f) {
  %1 = call i32 @cudaFreeHost(ptr null)
  %2 = icmp eq ptr %f, @cudaFreeHost
  ret i1 %2
}

; CHECK-LABEL: define i1 @weak(
; CHECK:         icmp ne ptr @cudaMaybe, null
define i1 @weak() {
  %1 = icmp ne ptr @cudaMaybe, null
  ret i1 %1
}

; One phi may name a block twice; both must then see the same value.
; CHECK-LABEL: define ptr @switched(
; CHECK:         %[[F:.*]] = load ptr, ptr @mneme.hook.cudaFree
; CHECK-NEXT:    switch
; CHECK:         phi ptr [ %[[F]], %entry ], [ %[[F]], %entry ], [ null, %other ]
define ptr @switched(i32 %i) {
entry:
  switch i32 %i, label %other [ i32 1, label %join
                                i32 2, label %join ]
other:
  br label %join
join:
  %r = phi ptr [ @cudaFree, %entry ], [ @cudaFree, %entry ], [ null, %other ]
  ret ptr %r
}

declare void @take(ptr)
declare void @takebool(i1)

; CHECK-DAG: attributes #[[NOUNWIND]] = { nounwind }
; CHECK-DAG: attributes #[[NORETURN]] = { noreturn nounwind }
