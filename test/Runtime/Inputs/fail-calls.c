// Preloaded, fails calls that one library, or program, makes of the C library: of
// memory, files, sockets and threads.
//
//   FAIL_IN      the object that calls: a part of its file's name
//   FAIL_PROGRAM in programs only that have this in their file's name
//   FAIL_FROM    the first call that fails, from 1
//   FAIL_COUNT   how many do; 0: all from there on
//   FAIL_LOG     a file that gets the number of calls, a line for each process
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);

static unsigned long Begin, End, From, Count;
static _Atomic unsigned long Calls;

static int findObject(struct dl_phdr_info *Info, size_t Size, void *Name) {
  (void)Size;
  const char *Slash = strrchr(Info->dlpi_name, '/');
  if (!strstr(Slash ? Slash : Info->dlpi_name, Name))
    return 0;
  for (int I = 0; I != Info->dlpi_phnum; ++I) {
    const ElfW(Phdr) *P = &Info->dlpi_phdr[I];
    if (P->p_type == PT_LOAD && P->p_flags & PF_X) {
      Begin = Info->dlpi_addr + P->p_vaddr;
      End = Begin + P->p_memsz;
    }
  }
  return 1;
}

__attribute__((constructor)) static void start(void) {
  const char *In = getenv("FAIL_IN"), *First = getenv("FAIL_FROM"),
             *Number = getenv("FAIL_COUNT");
  From = First ? strtoul(First, 0, 10) : 0;
  Count = Number ? strtoul(Number, 0, 10) : 1;
  const char *Program = getenv("FAIL_PROGRAM");
  if (In && (!Program || strstr(program_invocation_short_name, Program)))
    dl_iterate_phdr(findObject, (void *)In);
}

__attribute__((destructor)) static void stop(void) {
  const char *Log = getenv("FAIL_LOG");
  char Line[32];
  int FD = Log && Begin ? open(Log, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;
  int Size = snprintf(Line, sizeof(Line), "%lu\n", Calls);
  if (FD >= 0 && write(FD, Line, Size) != Size)
    abort();
  close(FD);
}

static int fails(void *Caller) {
  unsigned long At = (unsigned long)Caller;
  if (At < Begin || At >= End)
    return 0;
  unsigned long N = ++Calls;
  if (!From || N < From || (Count && N - From >= Count))
    return 0;
  errno = ENOMEM;
  return 1;
}

#define FAILS fails(__builtin_return_address(0))

void *malloc(size_t Size) { return FAILS ? NULL : __libc_malloc(Size); }
void *calloc(size_t N, size_t Size) {
  return FAILS ? NULL : __libc_calloc(N, Size);
}
void *realloc(void *P, size_t Size) {
  return FAILS ? NULL : __libc_realloc(P, Size);
}

// The function that would have been called.
#define NEXT(Name) ((__typeof__(&Name))dlsym(RTLD_NEXT, #Name))
#define WRAP(Type, Name, Parameters, Arguments, Failure)                       \
  Type Name Parameters {                                                       \
    return FAILS ? Failure : NEXT(Name) Arguments;                             \
  }

WRAP(char *, strdup, (const char *S), (S), NULL)
WRAP(void *, mmap, (void *P, size_t N, int Prot, int Flags, int FD, off_t At),
     (P, N, Prot, Flags, FD, At), MAP_FAILED)
WRAP(int, mprotect, (void *P, size_t N, int Prot), (P, N, Prot), -1)
WRAP(int, socket, (int Domain, int Type, int Protocol),
     (Domain, Type, Protocol), -1)
WRAP(int, connect, (int FD, const struct sockaddr *A, socklen_t N), (FD, A, N),
     -1)
WRAP(ssize_t, send, (int FD, const void *P, size_t N, int Flags),
     (FD, P, N, Flags), -1)
WRAP(ssize_t, recv, (int FD, void *P, size_t N, int Flags), (FD, P, N, Flags),
     -1)
WRAP(ssize_t, write, (int FD, const void *P, size_t N), (FD, P, N), -1)
WRAP(int, rename, (const char *Old, const char *New), (Old, New), -1)
WRAP(DIR *, opendir, (const char *Name), (Name), NULL)
WRAP(FILE *, fopen, (const char *Name, const char *Mode), (Name, Mode), NULL)
WRAP(int, regcomp, (regex_t * R, const char *Text, int Flags),
     (R, Text, Flags), REG_ESPACE)
WRAP(int, regexec,
     (const regex_t *R, const char *Text, size_t N, regmatch_t *M, int Flags),
     (R, Text, N, M, Flags), REG_ESPACE)
WRAP(int, pthread_create,
     (pthread_t * T, const pthread_attr_t *A, void *(*F)(void *), void *P),
     (T, A, F, P), EAGAIN)

int open(const char *Path, int Flags, ...) {
  va_list Args;
  va_start(Args, Flags);
  mode_t Mode = Flags & O_CREAT ? va_arg(Args, mode_t) : 0;
  va_end(Args);
  return FAILS ? -1 : NEXT(open)(Path, Flags, Mode);
}
