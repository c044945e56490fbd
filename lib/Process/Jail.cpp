//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Process/Jail.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Process/Child.h"
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Landlock
//===----------------------------------------------------------------------===//
//
// Own declarations: the headers of the build's system may be older than the
// kernel that Mneme runs on.

namespace {
struct RulesetAttributes {
  uint64_t Files, Network, Scopes;
};
struct __attribute__((packed)) PathAttributes {
  uint64_t Allowed;
  int32_t Parent;
};

enum : unsigned { RulePathBeneath = 1, AskForVersion = 1 };
enum : uint64_t {
  Execute = 1 << 0,
  WriteFile = 1 << 1,
  ReadFile = 1 << 2,
  ReadFolder = 1 << 3,
  FirstFolderRight = ReadFolder,
  Refer = 1 << 13,    // Version 2.
  Truncate = 1 << 14, // Version 3.
  Device = 1 << 15,   // Version 5.
  Version1 = Refer - 1,
  ConnectAndBind = 3,    // Version 4: of TCP.
  SocketsAndSignals = 3, // Version 6.
};
} // namespace

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

/// Returns 0 if the kernel has no Landlock.
static long getLandlockVersion() {
  return std::max<long>(
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, AskForVersion), 0);
}

static Error allow(int Rules, const std::string &Path, uint64_t Rights) {
  Descriptor FD(::open(Path.c_str(), O_PATH | O_CLOEXEC));
  if (!FD)
    return errno == ENOENT ? Error::success()
                           : systemError("cannot open '" + Path + "'");
  struct stat Status;
  if (::fstat(FD.get(), &Status) != 0)
    return systemError("cannot open '" + Path + "'");
  if (!S_ISDIR(Status.st_mode))
    Rights &= Execute | WriteFile | ReadFile | Truncate | Device;
  PathAttributes Attributes = {Rights, FD.get()};
  if (::syscall(SYS_landlock_add_rule, Rules, RulePathBeneath, &Attributes,
                0) != 0)
    return systemError("cannot confine a process to '" + Path + "'");
  return Error::success();
}

static Expected<Descriptor> makeRules(const JailPaths &Paths, long Version) {
  RulesetAttributes Handled = {Version1, 0, 0};
  if (Version >= 2)
    Handled.Files |= Refer;
  if (Version >= 3)
    Handled.Files |= Truncate;
  if (Version >= 4)
    Handled.Network = ConnectAndBind;
  if (Version >= 5)
    Handled.Files |= Device;
  if (Version >= 6)
    Handled.Scopes = SocketsAndSignals;
  // Older kernels reject a structure with set members that they do not know,
  // and accept a longer one otherwise.
  Descriptor Rules(
      ::syscall(SYS_landlock_create_ruleset, &Handled, sizeof(Handled), 0));
  if (!Rules)
    return systemError("cannot confine a process to its files");
  // Programs and libraries. The linker's cache and the null device are needed
  // by every program.
  for (const char *Path : {"/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache",
                           "/etc/ld.so.preload", "/dev/urandom", "/proc/self",
                           "/sys/devices/system/cpu"})
    if (Error E = allow(Rules.get(), Path, Execute | ReadFile | ReadFolder))
      return std::move(E);
  if (Error E = allow(Rules.get(), "/dev/null", ReadFile | WriteFile))
    return std::move(E);
  for (const std::string &Path : Paths.Readable)
    if (Error E = allow(Rules.get(), Path, Execute | ReadFile | ReadFolder))
      return std::move(E);
  for (const std::string &Path : Paths.Writable)
    if (Error E = allow(Rules.get(), Path, Handled.Files & ~(Execute | Device)))
      return std::move(E);
  return std::move(Rules);
}

//===----------------------------------------------------------------------===//
// System calls
//===----------------------------------------------------------------------===//

#if defined(__x86_64__)
static constexpr uint32_t OwnArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
static constexpr uint32_t OwnArchitecture = AUDIT_ARCH_AARCH64;
#else
static constexpr uint32_t OwnArchitecture = 0;
#endif

/// System calls that connect to the network or to other processes, or that
/// have much of the kernel behind them. All others are allowed: the set that a
/// compiler needs differs between C libraries.
static constexpr uint32_t Denied[] = {
    SYS_socket,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    SYS_sendto,
    SYS_sendmsg,
    SYS_sendmmsg,
    SYS_ptrace,
    SYS_kill,
    SYS_process_vm_readv,
    SYS_mount,
    SYS_umount2,
    SYS_process_vm_writev,
    SYS_unshare,
    SYS_setns,
    SYS_bpf,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_personality,
    SYS_perf_event_open,
    SYS_open_by_handle_at,
    SYS_init_module,
    SYS_finit_module,
    SYS_kexec_load,
    SYS_chroot,
    SYS_pivot_root,
    SYS_userfaultfd,
    SYS_shmget,
    SYS_shmat,
    SYS_msgget,
    SYS_semget,
    SYS_mq_open,
    SYS_memfd_create,
#ifdef SYS_io_uring_setup
    SYS_io_uring_setup,
#endif
#ifdef SYS_pidfd_open
    SYS_pidfd_open,
#endif
#ifdef SYS_pidfd_getfd
    SYS_pidfd_getfd,
#endif
};

namespace {
/// The filter, as a program of the kernel's packet filter.
struct Filter {
  static constexpr size_t Fixed = 6;
  sock_filter Code[Fixed + std::size(Denied) + 2];

  constexpr Filter() : Code() {
    // Equal numbers name other calls in another architecture, and in x32.
    size_t I = 0;
    auto Add = [&](uint16_t Op, uint8_t True, uint8_t False, uint32_t K) {
      Code[I++] = {Op, True, False, K};
    };
    Add(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, arch));
    Add(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, OwnArchitecture);
    Add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS);
    Add(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr));
    constexpr uint32_t X32 = 0x40000000;
    Add(BPF_JMP | BPF_JGE | BPF_K, 0, 1, X32);
    Add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS);
    constexpr size_t Number = std::size(Denied);
    for (size_t Call = 0; Call != Number; ++Call)
      Add(BPF_JMP | BPF_JEQ | BPF_K, Number - Call, 0, Denied[Call]);
    Add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
    Add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM);
  }
};
} // namespace

static constexpr Filter TheFilter;

Expected<Jail> Jail::create(const JailPaths &Paths) {
  if (!OwnArchitecture)
    return createStringError(
        "no jail for untrusted code: unknown system calls on this processor");
  if (::prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0)
    return createStringError("no jail for untrusted code: this kernel cannot "
                             "filter system calls (CONFIG_SECCOMP_FILTER)");
  Jail J;
  if (long Version = getLandlockVersion())
    if (Error E = makeRules(Paths, Version).moveInto(J.Rules))
      return std::move(E);
  return std::move(J);
}

int Jail::enter() const {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return errno;
  if (Rules && ::syscall(SYS_landlock_restrict_self, Rules.get(), 0) != 0)
    return errno;
  const sock_fprog Program = {std::size(TheFilter.Code),
                              const_cast<sock_filter *>(TheFilter.Code)};
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &Program, 0, 0) ? errno
                                                                      : 0;
}

/// Runs confined. \returns how it got out; empty if it did not.
static StringRef escape(bool ConfinesFiles) {
  Descriptor Socket(::socket(AF_INET, SOCK_STREAM, 0));
  if (Socket)
    return "a confined process has a network";
  Descriptor File(::open("/etc/passwd", O_RDONLY | O_CLOEXEC));
  return File && ConfinesFiles ? "a confined process reads all files" : "";
}

Error mneme::testJail() {
  Expected<Jail> J = Jail::create({});
  if (!J)
    return J.takeError();
  Expected<Pipe> Ends = Pipe::create();
  if (!Ends)
    return Ends.takeError();
  ChildOptions O;
  O.Kept = {Ends->Write.get()};
  O.Err = NullStream;
  O.Confined = &*J;
  constexpr double Seconds = 10;
  O.Limits.Seconds = Seconds;
  auto Try = [&] {
    std::string Way = escape(J->confinesFiles()).str();
    consumeError(
        writeAll(Ends->Write.get(), Way.empty() ? "confined" : StringRef(Way)));
  };
  Expected<Child> C = Child::fork(Try, O);
  if (!C)
    return C.takeError();
  Ends->Write.reset();
  std::string Answer = readToEnd(Ends->Read.get());
  if (Answer == "confined")
    return Error::success();
  return createStringError(
      "no jail for untrusted code: " +
      (Answer.empty() ? "this process may not confine itself" : Answer));
}
