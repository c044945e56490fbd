// The digest of payloads, for tests in Python.
#define XXH_INLINE_ALL
#include <xxhash.h>

void xxh3_128(const void *Bytes, size_t Size, unsigned char *Digest) {
  XXH128_canonicalFromHash((XXH128_canonical_t *)Digest,
                           XXH3_128bits(Bytes, Size));
}
