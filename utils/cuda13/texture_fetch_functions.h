/* clang before 22 includes it from the toolkit, where CUDA 13 has no such file. */
