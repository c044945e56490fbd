// Preloaded, writes what a process hands to the disk, and renames, to the file
// LOG_SYNCS, a line each: "sync NAME", "rename NAME".
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void note(const char *What, const char *Path) {
  const char *Log = getenv("LOG_SYNCS");
  const char *Name = strrchr(Path, '/');
  char Line[512];
  int Size = snprintf(Line, sizeof(Line), "%s %s\n", What,
                      Name ? Name + 1 : Path);
  int FD = Log ? open(Log, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;
  if (FD < 0 || write(FD, Line, Size) != Size)
    abort();
  close(FD);
}

int fsync(int FD) {
  char Link[64], Path[512];
  snprintf(Link, sizeof(Link), "/proc/self/fd/%d", FD);
  ssize_t Size = readlink(Link, Path, sizeof(Path) - 1);
  Path[Size < 0 ? 0 : Size] = 0;
  note("sync", Path);
  return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(FD);
}

int rename(const char *From, const char *To) {
  note("rename", To);
  return ((int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename"))(From,
                                                                         To);
}
