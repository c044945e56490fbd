// seal FILE: gives a file of the JIT's cache the size and the digest of its
// contents.
#include <cstring>
#include <fstream>
#include <iterator>
#include <llvm/Mneme/Runtime/JitCache.h>

int main(int, char **Argv) {
  std::ifstream In(Argv[1], std::ios::binary);
  std::string Bytes(std::istreambuf_iterator<char>(In), {});
  MnemeJitFileHeader Header;
  memcpy(&Header, Bytes.data(), sizeof(Header));
  Bytes.erase(0, sizeof(Header));
  std::string Key = Bytes.substr(0, Header.KeySize);
  std::ofstream(Argv[1], std::ios::binary)
      << mneme::jitFileBytes(Key, Bytes.substr(Key.size()));
}
