#include <mneme/jit.h>
__attribute__((constructor)) static void addPlugin() {
  mneme::jit_plugin(PLUGIN, "globaldce");
}
