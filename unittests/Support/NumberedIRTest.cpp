//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/NumberedIR.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

TEST(NumberedIRTest, SameContentHasTheSameNumber) {
  JointIR Joint = numberJointly("define void @f() #0 {\n"
                                "  store i32 0, ptr %a, !tbaa !0\n"
                                "  call void @g() #1\n"
                                "}\n"
                                "attributes #0 = { nounwind }\n"
                                "attributes #1 = { cold }\n"
                                "!0 = !{!1, !1, i64 0}\n"
                                "!1 = !{!\"int\"}\n",
                                "define void @f() #0 {\n"
                                "  store i32 0, ptr %b, !tbaa !0\n"
                                "  store i32 0, ptr %a, !tbaa !2\n"
                                "  call void @g() #2\n"
                                "}\n"
                                "attributes #0 = { nounwind \"new\" }\n"
                                "attributes #2 = { cold }\n"
                                "!0 = !{!1, !1, i64 0}\n"
                                "!1 = !{!\"char\"}\n"
                                "!2 = !{!3, !3, i64 0}\n"
                                "!3 = !{!\"int\"}\n");
  EXPECT_EQ(Joint.Before, "define void @f() #0 {\n"
                          "  store i32 0, ptr %a, !tbaa !0\n"
                          "  call void @g() #1\n"
                          "}\n");
  EXPECT_EQ(Joint.After, "define void @f() #2 {\n"
                         "  store i32 0, ptr %b, !tbaa !2\n"
                         "  store i32 0, ptr %a, !tbaa !0\n"
                         "  call void @g() #1\n"
                         "}\n");
  EXPECT_EQ(Joint.printDefinitions(), "!0 = !{!1, !1, i64 0}\n"
                                      "!1 = !{!\"int\"}\n"
                                      "!2 = !{!3, !3, i64 0}\n"
                                      "!3 = !{!\"char\"}\n"
                                      "attributes #0 = { nounwind }\n"
                                      "attributes #1 = { cold }\n"
                                      "attributes #2 = { nounwind \"new\" }\n");
}

TEST(NumberedIRTest, StringsHaveNoNumbers) {
  StringRef Before = "@s = constant [2 x i8] c\"!1\", !a !1\n"
                     "!1 = !{!\"#2\"}\n",
            After = "@s = constant [2 x i8] c\"!1\", !a !0\n"
                    "!0 = !{!\"#2\"}\n";
  JointIR Joint = numberJointly(Before, After);
  EXPECT_EQ(Joint.After, Joint.Before);
  EXPECT_EQ(Joint.printDefinitions(), "!1 = !{!\"#2\"}\n");
}

// Loops refer to themselves. The lines tell apart those with the same content.
TEST(NumberedIRTest, DistinctNodesArePairedByTheirLines) {
  JointIR Joint = numberJointly("br label %a, !llvm.loop !0\n"
                                "br label %b, !llvm.loop !1\n"
                                "br label %c, !llvm.loop !2\n"
                                "!0 = distinct !{!0, !3}\n"
                                "!1 = distinct !{!1, !3}\n"
                                "!2 = distinct !{!2, !3}\n"
                                "!3 = !{!\"llvm.loop.mustprogress\"}\n",
                                "br label %a, !llvm.loop !0\n"
                                "br label %c, !llvm.loop !2\n"
                                "!0 = distinct !{!0, !1}\n"
                                "!1 = !{!\"llvm.loop.mustprogress\"}\n"
                                "!2 = distinct !{!2, !1}\n");
  EXPECT_EQ(Joint.After, "br label %a, !llvm.loop !0\n"
                         "br label %c, !llvm.loop !2\n");
  EXPECT_EQ(Joint.Definitions.size(), 4u);
}

// Two nodes become one, and the users of that are other nodes.
TEST(NumberedIRTest, PairsHaveTheSameDefinition) {
  JointIR Joint = numberJointly("load a, !scope !0\n"
                                "load b, !scope !1\n"
                                "!0 = !{!2}\n"
                                "!1 = !{!3}\n"
                                "!2 = distinct !{}\n"
                                "!3 = distinct !{}\n",
                                "load a, !scope !0\n"
                                "load b, !scope !1\n"
                                "!0 = !{!2}\n"
                                "!1 = !{!2, !2}\n"
                                "!2 = distinct !{}\n");
  EXPECT_EQ(Joint.After, "load a, !scope !0\n"
                         "load b, !scope !4\n");
  EXPECT_EQ(Joint.Definitions.at({'!', 4}), "!4 = !{!2, !2}");
}

TEST(NumberedIRTest, DiffsDefineWhatDiffers) {
  JointIR Joint = numberJointly("%1 = load i32, ptr %a, !tbaa !0\n"
                                "store i32 %1, ptr %b, !tbaa !0\n"
                                "!0 = !{!1, !1, i64 0}\n"
                                "!1 = !{!\"int\", !2}\n"
                                "!2 = !{!\"char\"}\n",
                                "%2 = load i32, ptr %a, !tbaa !0\n"
                                "store i32 %2, ptr %b, !tbaa !3\n"
                                "!0 = !{!1, !1, i64 0}\n"
                                "!1 = !{!\"int\", !2}\n"
                                "!2 = !{!\"char\"}\n"
                                "!3 = !{!2, !2, i64 0}\n");
  EXPECT_EQ(makeIRDiff(Joint, Joint.Before, Joint.After,
                       /*RenumberedValues=*/true, 0),
            "@@ -2,1 +2,1 @@\n"
            "-store i32 %1, ptr %b, !tbaa !0\n"
            "+store i32 %2, ptr %b, !tbaa !3\n"
            "@@ definitions @@\n"
            " !0 = !{!1, !1, i64 0}\n"
            " !1 = !{!\"int\", !2}\n"
            " !2 = !{!\"char\"}\n"
            " !3 = !{!2, !2, i64 0}\n");
}
