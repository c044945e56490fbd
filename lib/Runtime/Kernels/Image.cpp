//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Embeds MNEME_IMAGE_FILE as the array MNEME_IMAGE and its size. Compiled once
// per image, so that a program links only the images that it refers to.
//
//===----------------------------------------------------------------------===//

#define STRINGIFY(Text) #Text
#define STRING(Text) STRINGIFY(Text)
#define NAME STRING(MNEME_IMAGE)

asm(".pushsection .rodata." NAME ", \"a\", @progbits\n"
    ".balign 4096\n" // the code objects of a bundle are aligned to pages
    ".globl " NAME "\n"
    ".hidden " NAME "\n"
    ".type " NAME ", @object\n" NAME ":\n"
    ".incbin \"" MNEME_IMAGE_FILE "\"\n"
    ".L" NAME "_end:\n"
    ".size " NAME ", . - " NAME "\n"
    ".byte 0\n"
    ".balign 8\n"
    ".globl " NAME "_size\n"
    ".hidden " NAME "_size\n"
    ".type " NAME "_size, @object\n" NAME "_size:\n"
    ".quad .L" NAME "_end - " NAME "\n"
    ".size " NAME "_size, 8\n"
    ".popsection\n");
