#include <cstdio>

bool fromProgram(), fromStatic(), fromShared(), more();

int main() {
  bool Good = fromProgram() && fromStatic() && fromShared() && more();
  std::puts(Good ? "all good" : "wrong");
  return !Good;
}
