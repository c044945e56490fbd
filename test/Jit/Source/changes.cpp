// Code is compiled again if something has changed that it depends on: the folder, the environment, or a file.
//
// RUN: rm -rf %t && mkdir -p %t/a %t/b && cd %t
// RUN: %source_cxx %s -o app
//
// Other folders have other files. The source is the same.
// RUN: echo 'int value() { return 1; }' > a/x.h
// RUN: echo 'int value() { return 2; }' > b/x.h
// RUN: cd %t/a && ../app '#include "x.h"' > ../out && cd ../b && ../app '#include "x.h"' >> ../out
// RUN: cd %t/a && ../app '#include <x.h>' -I. >> ../out && cd ../b && ../app '#include <x.h>' -I. >> ../out
// RUN: FileCheck %s --check-prefix=OTHER < %t/out
// OTHER:      1
// OTHER-NEXT: 2
// OTHER-NEXT: 1
// OTHER-NEXT: 2
//
// The environment is that of the program, not of the one that started the server.
// RUN: env CPATH=%t/a %t/app '#include <x.h>' > %t/out
// RUN: env CPATH=%t/b %t/app '#include <x.h>' >> %t/out
// RUN: env CPLUS_INCLUDE_PATH=%t/a %t/app '#include <x.h>' >> %t/out
// RUN: FileCheck %s --check-prefix=PATHS < %t/out
// PATHS:      1
// PATHS-NEXT: 2
// PATHS-NEXT: 1
//
// Files that options name.
// RUN: echo '-DVALUE=1' > %t/options
// RUN: %t/app 'int value() { return VALUE; }' @%t/options > %t/out
// RUN: echo '-DVALUE=2' > %t/options
// RUN: %t/app 'int value() { return VALUE; }' @%t/options >> %t/out
// RUN: FileCheck %s --check-prefix=OPTIONS < %t/out
// OPTIONS:      1
// OPTIONS-NEXT: 2
//
// A file that changes after clang has read it. Clang then waits for a reader of the remarks.
// RUN: cd %t/a && mkfifo remarks
// RUN: (../app '#include "x.h"' -fsave-optimization-record -foptimization-record-file=remarks > ../out; echo $? > ../ended) & \
// RUN:   (echo 'int value() { return 3; }' > x.h.new; exec 3< remarks; mv x.h.new x.h; cat <&3 > /dev/null); wait
// RUN: rm remarks
// RUN: ../app '#include "x.h"' -fsave-optimization-record -foptimization-record-file=remarks >> ../out
// RUN: FileCheck %s --check-prefix=LATER < %t/out
// LATER:      1
// LATER-NEXT: 3

#include <cstdio>
#include <mneme/jit_module.h>

int main(int argc, char **argv) {
  mneme::jit_module M(mneme::jit_target::host, std::string(argv[1]) + "\ntemplate <int N> int get() { return value(); }",
                      {argv + 2, argv + argc});
  std::printf("%d\n", M.instantiate("get", "1").call<int>());
  std::fputs(M.error().c_str(), stdout);
}
