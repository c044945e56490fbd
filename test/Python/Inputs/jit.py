import array
import ctypes
import pathlib
import sys

import llvm_mneme as mneme

CODE = """
extern "C" double sum(const double *X, int N) { double S = 0; for (int I = 0; I < N; ++I) S += X[I]; return S; }
extern "C" void twice(float *X, unsigned char N) { for (int I = 0; I < N; ++I) X[I] *= FACTOR; }
extern "C" bool invert(bool B) { return !B; }
extern "C" const void *same(const void *P) { return P; }
template <int N, typename T> T power(T X) { T R = 1; for (int I = 0; I < N; ++I) R *= X; return R; }
"""
module = mneme.compile(CODE, options=["-DFACTOR=2"])
total = module.function("sum", "double(const double *, int)")
twice = module.function("twice", "void(float *, unsigned char)")
print("sum", total(array.array("d", [1, 2, 4]), 3), total(bytes(16), 2))
values = (ctypes.c_float * 3)(1, 2, 3)
print("twice", twice(values, 3), list(values))
print("invert", module.function("invert", "bool(bool)")(False))
same = module.function("same", "void *(const void *)")
print("same", same(None), same(64), same(ctypes.addressof(values)) == ctypes.addressof(values))
cube = module.instantiate("power", 3, "double", signature="double(double)")
print("power", cube(2), cube(3.5))
hidden = mneme.compile(CODE, options=["-DFACTOR=2", "-fvisibility=hidden"])
print("hidden", hidden.instantiate("power", 2, "double", signature="double(double)")(3))

folder = pathlib.Path(sys.argv[1])
(folder / "next.ll").write_text("define i32 @next(i32 %x) {\n  %r = add i32 %x, 1\n  ret i32 %r\n}\n")
for source in (folder / "next.ll", str(folder / "next.ll")):
    print("path", mneme.compile(source).function("next", "int(int)")(41))
bitcode = pathlib.Path(sys.argv[2]).read_bytes()
print("bitcode", mneme.compile(bitcode, "llvm_ir").function("sub", "int(int, int)")(44, 2))


def fails(what):
    try:
        what()
    except Exception as error:
        print(f"{type(error).__name__}: {error}")


fails(lambda: total(array.array("d", [1])))
fails(lambda: twice(values, 300))
fails(lambda: twice(values, 1.0))
half = mneme.compile('extern "C" double half(float X) { return X / 2; }').function("half", "double(float)")
print("half", half(3e38) > 1e38, half(float("-inf")), half(float("nan")))
fails(lambda: half(1e40))
fails(lambda: half(-(10**39)))
fails(lambda: half(10**400))
fails(lambda: twice(b"1234", 1))
fails(lambda: total("text", 1))
fails(lambda: module.function("none", "int()"))
fails(lambda: module.function("sum", "int"))
fails(lambda: module.function("sum", "doubel(int)"))
fails(lambda: module.kernel("sum", "void()"))
fails(lambda: mneme.compile("", "cqp"))
fails(lambda: mneme.compile("", target="gpu"))
fails(lambda: mneme.compile(pathlib.Path("no-such-file.cpp")))
fails(lambda: mneme.compile("", target="cuda"))
try:
    mneme.compile('#warning slow\nextern "C" int f() {\n  return missing;\n}')
except mneme.CompileError as error:
    for diagnostic in error.diagnostics:
        print(diagnostic.severity, diagnostic.file, diagnostic.line, diagnostic.column, diagnostic.text)
print("LLVM in the process:", "LLVM" in open("/proc/self/maps").read())
