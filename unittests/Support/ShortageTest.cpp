//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/Shortage.h"
#include "llvm/Support/Compiler.h"
#include "llvm/Testing/Support/Error.h"
#include "gtest/gtest.h"
#include <sys/resource.h>

using namespace llvm;
using namespace llvm::mneme;

TEST(ShortageTest, Recognized) {
  auto Make = [](std::errc C) { return std::make_error_code(C); };
  Error E = recognizeShortage(createFileError(
      "x", createStringError(Make(std::errc::too_many_files_open), "cannot "
                                                                   "open")));
  EXPECT_TRUE(E.isA<ShortageError>());
  EXPECT_EQ(
      toString(std::move(E)),
      "'x': cannot open: Too many open files: raise the limit (ulimit -n)");
  E = recognizeShortage(
      createFileError("y", Make(std::errc::no_space_on_device)));
  EXPECT_TRUE(E.isA<ShortageError>());
  // Twice is as good as once.
  E = recognizeShortage(std::move(E));
  EXPECT_EQ(toString(std::move(E)),
            "'y': No space left on device: free disk space, or set TMPDIR to "
            "another folder");
}

TEST(ShortageTest, OthersStay) {
  EXPECT_THAT_ERROR(recognizeShortage(Error::success()), Succeeded());
  Error E = recognizeShortage(createFileError(
      "x", std::make_error_code(std::errc::no_such_file_or_directory)));
  EXPECT_FALSE(E.isA<ShortageError>());
  EXPECT_EQ(toString(std::move(E)), "'x': No such file or directory");
  E = recognizeShortage(createStringError("too many open files"));
  EXPECT_FALSE(E.isA<ShortageError>());
  consumeError(std::move(E));
}

TEST(ShortageTest, AvailableMemory) {
  uint64_t Before = getAvailableMemory();
  EXPECT_GT(Before, 0u);
#if LLVM_ADDRESS_SANITIZER_BUILD
  GTEST_SKIP() << "AddressSanitizer's own memory is beyond the limit";
#endif
  rlimit Old;
  ASSERT_EQ(::getrlimit(RLIMIT_DATA, &Old), 0);
  rlimit Low = Old;
  Low.rlim_cur = 1 << 30;
  ASSERT_EQ(::setrlimit(RLIMIT_DATA, &Low), 0);
  EXPECT_LE(getAvailableMemory(), uint64_t(1) << 30);
  ::setrlimit(RLIMIT_DATA, &Old);
}
