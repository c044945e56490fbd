; A module that registers variables of CUDA holds on to the function that says where
; they are, whether or not it calls it: a runtime asks it.
; RUN: split-file %s %t
; RUN: mneme-pass-opt -passes=mneme-hooks -S %t/calls.ll | FileCheck %s
; RUN: mneme-pass-opt -passes=mneme-hooks,mneme-hooks -S %t/calls.ll | FileCheck %s --check-prefix=ONCE
; RUN: mneme-pass-opt -passes=mneme-hooks -S %t/entries.ll | FileCheck %s
; RUN: mneme-pass-opt -passes=mneme-hooks -S %t/used.ll | FileCheck %s --check-prefixes=CHECK,USED
; RUN: mneme-pass-opt -passes=mneme-hooks -S %t/kernels.ll | FileCheck %s --check-prefix=NONE
; RUN: mneme-pass-opt -passes=mneme-hooks -S %t/hip.ll | FileCheck %s --check-prefix=NONE
; CHECK: @mneme.hook.cudaGetSymbolAddress = internal externally_initialized global { ptr, ptr } { ptr @cudaGetSymbolAddress, ptr @{{.*}} }, section "mneme_hooks"
; CHECK: @llvm.compiler.used = appending global {{.*}} @mneme.hook.cudaGetSymbolAddress
; CHECK: declare i32 @cudaGetSymbolAddress(ptr, ptr)
; USED: load ptr, ptr @mneme.hook.cudaGetSymbolAddress
; ONCE-COUNT-1: @mneme.hook.cudaGetSymbolAddress = 
; ONCE-NOT: @mneme.hook.cudaGetSymbolAddress{{.*}} =
; NONE-NOT: cudaGetSymbolAddress

;--- calls.ll
target triple = "x86_64-pc-linux-gnu"
@shadow = internal global i32 0
@name = private constant [2 x i8] c"x\00"
declare void @__cudaRegisterVar(ptr, ptr, ptr, ptr, i32, i64, i32, i32)
define void @register(ptr %h) {
  call void @__cudaRegisterVar(ptr %h, ptr @shadow, ptr @name, ptr @name, i32 0, i64 4, i32 0, i32 0)
  ret void
}

;--- entries.ll
target triple = "x86_64-pc-linux-gnu"
@shadow = internal global i32 0
@name = private constant [2 x i8] c"x\00"
@entry = weak constant { i64, i16, i16, i32, ptr, ptr, i64, i64, ptr } { i64 0, i16 1, i16 2, i32 0, ptr @shadow, ptr @name, i64 4, i64 0, ptr null }, section "llvm_offload_entries"

;--- used.ll
target triple = "x86_64-pc-linux-gnu"
@shadow = internal global i32 0
@name = private constant [2 x i8] c"x\00"
declare i32 @cudaGetSymbolAddress(ptr, ptr)
declare void @__cudaRegisterVar(ptr, ptr, ptr, ptr, i32, i64, i32, i32)
define void @register(ptr %h) {
  call void @__cudaRegisterVar(ptr %h, ptr @shadow, ptr @name, ptr @name, i32 0, i64 4, i32 0, i32 0)
  %r = call i32 @cudaGetSymbolAddress(ptr %h, ptr @shadow)
  ret void
}

;--- kernels.ll
target triple = "x86_64-pc-linux-gnu"
@name = private constant [2 x i8] c"k\00"
@entry = weak constant { i64, i16, i16, i32, ptr, ptr, i64, i64, ptr } { i64 0, i16 1, i16 2, i32 0, ptr @stub, ptr @name, i64 0, i64 0, ptr null }, section "llvm_offload_entries"
declare void @__cudaRegisterFunction(ptr)
define void @stub() {
  call void @__cudaRegisterFunction(ptr null)
  ret void
}

;--- hip.ll
target triple = "x86_64-pc-linux-gnu"
@shadow = internal global i32 0
@name = private constant [2 x i8] c"x\00"
@entry = weak constant { i64, i16, i16, i32, ptr, ptr, i64, i64, ptr } { i64 0, i16 1, i16 4, i32 0, ptr @shadow, ptr @name, i64 4, i64 0, ptr null }, section "llvm_offload_entries"
