"""use-library.py LIBRARY: scales numbers with its kernel."""
import ctypes
import sys

library = ctypes.CDLL(sys.argv[1])
numbers = (ctypes.c_float * 1000)(*range(1000))
print("error", library.run(numbers, 1000, ctypes.c_float(2)), "sum", sum(numbers))
