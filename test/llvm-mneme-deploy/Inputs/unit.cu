// Another unit of a device link, without influence on the kernels of the first.
#ifndef VALUE
#define VALUE 1
#endif
__global__ void unrelated(int *x) { *x = VALUE; }
