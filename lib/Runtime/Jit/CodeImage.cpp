//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CodeImage.h"
#include "Shortage.h"

#include <cstring>
#include <sys/mman.h>

using namespace mneme;

// Of libgcc: a whole section, ended by zeros.
extern "C" void __register_frame(void *Begin);

namespace {
/// Memory for an image until it is complete.
class Mapping {
public:
  explicit Mapping(size_t Size) : Size(Size) {
    void *P = mmap(nullptr, Size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    Base = P == MAP_FAILED ? nullptr : static_cast<char *>(P);
  }
  Mapping(const Mapping &) = delete;
  Mapping &operator=(const Mapping &) = delete;
  ~Mapping() {
    if (Base)
      munmap(Base, Size);
  }
  char *base() const { return Base; }
  void keep() { Base = nullptr; }

private:
  char *Base;
  size_t Size;
};
} // namespace

void *mneme::loadCodeImage(const JitImage &Image, const SymbolSource &Symbols,
                           std::string &Error) {
  constexpr size_t PageSize = 4096;
  size_t Size = (Image.Size + PageSize - 1) / PageSize * PageSize;
  if (!Size) {
    Error = "it is empty";
    return nullptr;
  }
  std::vector<void *> Addresses;
  for (const JitImage::External &E : Image.Externals) {
    void *Address = Symbols.find(E.Name);
    if (!Address && !E.IsWeak) {
      Error = "the program has no '" + E.Name + "'";
      return nullptr;
    }
    Addresses.push_back(Address);
  }
  Mapping M(Size);
  char *Base = M.base();
  if (!Base) {
    Error = "no memory for code";
    return nullptr;
  }
  for (const JitImage::Segment &S : Image.Segments)
    memcpy(Base + S.Offset, S.Contents.data(), S.Contents.size());
  for (const JitImage::Fixup &F : Image.Fixups) {
    uint64_t Symbol = reinterpret_cast<uint64_t>(
        F.Symbol == JitImage::Fixup::Base ? Base : Addresses[F.Symbol]);
    uint64_t Value = Symbol + uint64_t(F.Addend);
    memcpy(Base + F.Offset, &Value, sizeof(Value));
  }
  for (const JitImage::Segment &S : Image.Segments)
    if (S.Size &&
        mprotect(Base + S.Offset, S.Size,
                 S.Protection & (PROT_READ | PROT_WRITE | PROT_EXEC))) {
      Error = "its memory cannot be protected";
      return nullptr;
    }
  // Without memory for it, debuggers see less.
  attempt([&] { announceFunctions(Image, Base); });
  if (Image.FrameSize)
    __register_frame(Base + Image.FrameOffset);
  M.keep();
  return Base;
}
