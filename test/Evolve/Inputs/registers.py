"""registers.py KERNEL: makes twice() of block.cu keep 96 values across a barrier, which needs as many registers."""
import sys

with open(sys.argv[1]) as file:
    text = file.read()
text = text.replace("  Out[threadIdx.x] = 2 * In[threadIdx.x];\n", """\
  float R[96], Sum = 0;
#pragma unroll
  for (int I = 0; I < 96; ++I)
    R[I] = In[(threadIdx.x + 7 * I) % 1024];
  __syncthreads();
#pragma unroll
  for (int I = 0; I < 96; ++I)
    Sum = Sum * R[I] + R[95 - I];
  Out[threadIdx.x] = Sum == 123 ? 0 : 2 * R[0];
""")
with open(sys.argv[1], "w") as file:
    file.write(text)
