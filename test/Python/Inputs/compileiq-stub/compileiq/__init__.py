"""The part of the interface of NVIDIA's CompileIQ 1.1 that the package uses: generations of given controls."""
