// Annotations are checked when the program is compiled, with their place.
//
// DEFINE: %{bad} = not %jit_cxx -c %s -o %t.o 2>&1
// DEFINE: %{check} = FileCheck %s --check-prefix
// RUN: %{bad} -DBAD='annotate("jit", 3)' | %{check}=RANGE
// RANGE: error: mneme: {{.*}}errors.cpp:[[#]]: annotate("jit"): no parameter 3 in 'f(int, double*)', which has 2
// RUN: %{bad} -DBAD='annotate("jit", 0)' | %{check}=ZERO
// ZERO: error: {{.*}}: annotate("jit"): no parameter 0 in 'f(int, double*)'
// RUN: %{bad} -DBAD='annotate("jit", "arg")' | %{check}=JSON
// JSON: error: {{.*}}: annotate("jit") of 'f(int, double*)': expected the number of a parameter or JSON, got 'arg'
// RUN: %{bad} -DBAD='annotate("jit", "{\"args\": 1}")' | %{check}=KEY
// KEY: error: {{.*}} expected the number of a parameter for key 'arg'
// RUN: %{bad} -DBODY='int M = N * 2; mneme::jit_arg(M)' | %{check}=ARG
// ARG: error: mneme: {{.*}}errors.cpp:[[#]]: jit_arg: the value is not a parameter in 'f(int, double*)'
// RUN: %{bad} -DBODY='double *Q = P + N; mneme::jit_array(Q, 3)' | %{check}=ARRAY
// ARRAY: error: {{.*}} jit_array: the pointer is not a parameter in
// RUN: %{bad} -DBODY='mneme::jit_array(P, N * 2)' | %{check}=COUNT
// COUNT: error: {{.*}} jit_array: the number of elements is neither a constant nor a parameter in
// RUN: %{bad} -DBODY='static int S; mneme::jit_object(&S)' | %{check}=OBJECT
// OBJECT: error: {{.*}} jit_object: the object is not a parameter in
// RUN: %{bad} -include string -DBODY='std::string S; mneme::jit_object(S)' | %{check}=TRIVIAL
// TRIVIAL: error: {{.*}}jit_object: the object must be trivially copyable
//
// What cannot have a stub is not compiled at run time.
// RUN: %jit_cxx -c %s -o %t.o -DVARIADIC 2>&1 | %{check}=VARIADIC
// VARIADIC: warning: mneme: 'g(int, ...)' is not compiled at run time: it is variadic

#include <mneme/jit.h>

#ifndef BAD
#define BAD annotate("jit")
#endif
#ifndef BODY
#define BODY
#endif
#ifdef VARIADIC
__attribute__((annotate("jit", 1))) int g(int N, ...) { return N; }
#else
__attribute__((BAD)) int f(int N, double *P) {
  BODY;
  return N + int(*P);
}
#endif
