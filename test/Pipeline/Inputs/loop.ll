; A loop for passes to work on.
target triple = "nvptx64-nvidia-cuda"

define void @fill(ptr %p, i32 %n) {
entry:
  br label %loop

loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %address = getelementptr i32, ptr %p, i32 %i
  store i32 %n, ptr %address
  %next = add i32 %i, 1
  %again = icmp slt i32 %next, %n
  br i1 %again, label %loop, label %exit

exit:
  ret void
}
