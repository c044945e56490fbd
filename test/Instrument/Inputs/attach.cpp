// A runtime as instrumented objects see one: says what attaches to it, once per
// object, and stands in for cudaMalloc and cudaFree. Preloaded or linked.
#include "llvm/Mneme/Runtime/PayloadFormat.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

static int fakeMalloc(void **Pointer, size_t Size) {
  printf("fake malloc %zu\n", Size);
  *Pointer = malloc(Size);
  return 0;
}

static int fakeFree(void *Pointer) {
  printf("fake free\n");
  free(Pointer);
  return 0;
}

static void describe(const MnemeIndexEntry &E) {
  static const char *const Kinds[] = {"kernel", "variable", "unit"};
  const char *Payload = reinterpret_cast<const char *>(E.Payload);
  printf("index %s %s for %s from %s: size %llu flags %u host %s\n",
         Kinds[E.Kind], E.Name,
         Payload + E.Payload->ArchOffset, Payload + E.Payload->SourceOffset,
         static_cast<unsigned long long>(E.Size), E.Flags,
         E.HostPtr ? "set" : "null");
}

extern "C" void __mneme_attach(MnemeHook *HooksBegin, MnemeHook *HooksEnd,
                               const MnemeIndexEntry *IndexBegin,
                               const MnemeIndexEntry *IndexEnd) {
  // Objects come with hooks, with an index, or both.
  static std::set<const void *> Seen;
  bool IsNew = HooksBegin != HooksEnd && Seen.insert(HooksBegin).second;
  if (IndexBegin != IndexEnd)
    IsNew |= Seen.insert(IndexBegin).second;
  if (!IsNew)
    return;
  printf("attach\n");
  for (const MnemeIndexEntry *E = IndexBegin; E != IndexEnd; ++E) {
    if (memcmp(E->Payload->Magic, MNEME_PAYLOAD_MAGIC, 8) ||
        reinterpret_cast<uintptr_t>(E->Payload) % 8)
      abort();
    describe(*E);
  }
  for (MnemeHook *H = HooksBegin; H != HooksEnd; ++H) {
    printf("hook %s%s\n", H->Name, H->Fn ? "" : " (undefined)");
    if (!strcmp(H->Name, "cudaMalloc") || !strcmp(H->Name, "hipMalloc"))
      H->Fn = reinterpret_cast<void *>(fakeMalloc);
    if (!strcmp(H->Name, "cudaFree") || !strcmp(H->Name, "hipFree"))
      H->Fn = reinterpret_cast<void *>(fakeFree);
  }
  fflush(stdout);
}
