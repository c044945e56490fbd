"""unread.py KERNEL FOLDER: writes versions of the kernel smooth that read elements which the recorded code does not read.

Those named wrong take a value there for a sign, those named right depend on none."""
import sys

text = open(sys.argv[1]).read()
right = "  Out[I] = weigh(Left, In[I], Right);"
assert text.count(right) == 1


def write(name, statement):
    with open(f"{sys.argv[2]}/{name}.cu", "w") as file:
        file.write(text.replace(right, statement))


# The allocations have 256 elements, of which the launches read N, at most 192 in the training.
far = "In[N + 3 < 256 ? N + 3 : 0]"
off = "\n  if (N < 256 && {}) Out[I] += 1;"
for name, condition in {
        "number": f"{far} == 77.f",
        "any": "(In[N + 3] == 77.f || In[N + 4] == 78.f)",
        "bits": f"__float_as_uint({far}) == 0x7fc00123u",
        "zero": f"__float_as_uint({far}) == 0x80000000u",
        "payload": f"__float_as_uint({far}) == 0x7fc00001u",
        "subnormal": f"__float_as_uint({far}) == 1u",
        "integer": f"(int){far} == -12345",
        "old": "Out[N + 5] == 77.f"}.items():
    write("wrong-" + name, right + off.format(condition))

write("right-neighbours", "  int Base = I / 4 * 4;\n  float4 V = *(const float4 *)(In + Base);\n"
      "  float Mid = I % 4 == 0 ? V.x : I % 4 == 1 ? V.y : I % 4 == 2 ? V.z : V.w;\n  Out[I] = weigh(Left, Mid, Right);")
write("right-prefetch", f"  float Next = {far};\n  Out[I] = N < 0 ? Next : weigh(Left, In[I], Right);")
write("right-tile", "  __shared__ float Tile[64];\n  Tile[threadIdx.x] = In[I];\n  Tile[threadIdx.x + 32] = In[I + 32 < 256 ? I + 32 : 0];\n"
      "  __syncthreads();\n  Out[I] = weigh(Left, Tile[threadIdx.x], Right);")
write("right-select", f"  float Other = {far};\n  Out[I] = I < N ? weigh(Left, In[I], Right) : Other > 3.f ? Other : 5.f;")
write("right-restored", right + "\n  if (I == 0 && N < 256)\n    Out[N] = ((volatile float *)Out)[N];")
