; What the program can change or see lives in the arena under its name; with it what
; it points to. Other constants stay in the image.
; RUN: mneme-pass-opt -passes=mneme-host-globals -S %s | FileCheck %s
target triple = "x86_64-unknown-linux-gnu"

; CHECK: @counter = external addrspace(1) global i32
@counter = internal addrspace(1) global i32 0
; CHECK: @table = external addrspace(4) global [2 x i32]
@table = protected addrspace(4) externally_initialized constant [2 x i32] [i32 1, i32 2]
; CHECK: @name = external global ptr
@name = externally_initialized global ptr @text
; CHECK: @text = external global [3 x i8]
@text = private constant [3 x i8] c"ab\00"
; CHECK: @format = internal unnamed_addr constant [3 x i8] c"%d\00"
@format = private unnamed_addr constant [3 x i8] c"%d\00"
; CHECK: @elsewhere = external addrspace(1) global i32
@elsewhere = external dso_local addrspace(1) global i32
; CHECK: @tile = internal addrspace(3) global i32 undef
@tile = internal addrspace(3) global i32 undef
