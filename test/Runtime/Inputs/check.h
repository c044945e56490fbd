// What the programs of these tests share.
#ifndef CHECK_H
#define CHECK_H
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(Condition)                                                       \
  do                                                                           \
    if (!(Condition)) {                                                        \
      printf("%s:%d: not so: %s\n", strrchr("/" __FILE__, '/') + 1, __LINE__, #Condition);  \
      exit(1);                                                                 \
    }                                                                          \
  while (0)

// A call's result, compared by name so that failures can be read.
#define EXPECT(Error, Call)                                                    \
  do {                                                                         \
    cudaError_t Got_ = (Call);                                                 \
    if (Got_ != Error) {                                                       \
      printf("%s:%d: %s gave %s, not %s\n", strrchr("/" __FILE__, '/') + 1,   \
             __LINE__, #Call, cudaGetErrorName(Got_), #Error);                  \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

#define OK(Call) EXPECT(cudaSuccess, Call)
#endif
