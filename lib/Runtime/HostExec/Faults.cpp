//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Faults of kernels: signal handlers on an alternate stack that jump back to
/// the worker, time limits, and copies that survive bad addresses. Other
/// signals are passed to the previous handler.
///
//===----------------------------------------------------------------------===//

#include "Executor.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

using namespace mneme::host;

static constexpr int Signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGURG};
static constexpr unsigned NumSignals = sizeof(Signals) / sizeof(Signals[0]);
static struct sigaction Previous[NumSignals];
/// The AVX-512 state alone takes 2.5 KB of a signal frame; the default size has
/// no room for a chained handler in addition.
static constexpr size_t SignalStackSize = 64u << 10;

/// Set while this thread runs code whose faults Mneme handles.
static thread_local FaultFrame *ActiveFrame
    __attribute__((tls_model("initial-exec")));
static std::atomic<mneme::host::Deadline *> Limit;
static std::atomic<int (*)(uint64_t)> FaultFilter;

/// Clears the active frame before leaving: AddressSanitizer runs code before a
/// noreturn call jumps, and a second signal must not jump from there again.
static FaultFrame &takeFrame() {
  FaultFrame &Frame = *ActiveFrame;
  ActiveFrame = nullptr;
  return Frame;
}

extern "C" void mneme_host_set_fault_filter(int (*Filter)(uint64_t)) {
  FaultFilter.store(Filter);
}

/// Returns true if the access must be retried.
static bool isFiltered(int Signal, uint64_t Address) {
  int (*Filter)(uint64_t) = Signal == SIGSEGV ? FaultFilter.load() : nullptr;
  return Filter && Filter(Address);
}

[[noreturn]] static void leaveFrame(FaultFrame &Frame, int Signal,
                                    uint64_t Address) {
  Frame.Signal = Signal;
  Frame.Address = Address;
  Worker *W = TheWorker;
  void *LeftFrames;
  if (W && W->Bounds.InFiber)
    beginSwitch(&LeftFrames, W->Bounds.Bottom, W->Bounds.Size);
  siglongjmp(Frame.Resume, 1);
}

static const struct sigaction &previousOf(int Signal) {
  unsigned I = 0;
  while (Signals[I] != Signal)
    ++I;
  return Previous[I];
}

/// Returns true if the signal had a handler before ours.
static bool hasHandler(int Signal) {
  const struct sigaction &Old = previousOf(Signal);
  return (Old.sa_flags & SA_SIGINFO) ||
         (Old.sa_handler != SIG_DFL && Old.sa_handler != SIG_IGN);
}

static void chain(int Signal, siginfo_t *Info, void *Context) {
  const struct sigaction &Old = previousOf(Signal);
  if (hasHandler(Signal)) {
    // Call it as the system would.
    sigset_t Mask = Old.sa_mask, Before;
    if (!(Old.sa_flags & SA_NODEFER))
      sigaddset(&Mask, Signal);
    pthread_sigmask(SIG_BLOCK, &Mask, &Before);
    if (Old.sa_flags & SA_SIGINFO)
      Old.sa_sigaction(Signal, Info, Context);
    else
      Old.sa_handler(Signal);
    pthread_sigmask(SIG_SETMASK, &Before, nullptr);
    return;
  }
  if (Signal == SIGURG)
    return; // Ignored by default.
  if (Old.sa_handler == SIG_IGN && Info->si_code <= 0)
    return; // Sent by kill() and ignored by the application.
  // The default action ends the process. Returning repeats the faulting
  // instruction; a signal that was sent must be sent again.
  sigaction(Signal, &Old, nullptr);
  if (Info->si_code <= 0)
    raise(Signal);
}

/// Handles SIGURG, which ends a launch. It comes from the timer of a launch
/// with a time limit, or from a failed worker to the others.
static void handleInterrupt(siginfo_t *Info, void *Context) {
  bool FromTimer = Info->si_code == SI_TIMER;
  if ((!FromTimer && Info->si_code != SI_QUEUE) ||
      Info->si_value.sival_ptr != &Limit)
    return chain(SIGURG, Info, Context);
  if (mneme::host::Deadline *D = FromTimer ? Limit.load() : nullptr)
    D->pass();
  Worker *W = TheWorker;
  if (!W || ActiveFrame != &W->Fault ||
      W->Launch->Status.load() == MNEME_HOST_OK)
    return;
  if (W->Busy)
    W->LeaveLater = 1;
  else
    leaveFrame(takeFrame(), SIGURG, 0);
}

void mneme::host::interruptThread(pthread_t Thread) {
  sigval Value;
  Value.sival_ptr = &Limit; // Identifies our own SIGURG.
  pthread_sigqueue(Thread, SIGURG, Value);
}

static void handleSignal(int Signal, siginfo_t *Info, void *Context) {
  int SavedErrno = errno;
  if (Signal == SIGURG)
    handleInterrupt(Info, Context);
  // si_code <= 0: sent by a process, not caused by the running code.
  else if (ActiveFrame && Info->si_code > 0) {
    uint64_t Address = reinterpret_cast<uint64_t>(Info->si_addr);
    if (isFiltered(Signal, Address)) {
      // Retry the access.
    } else if (ActiveFrame->AsksHandlers && hasHandler(Signal)) {
      // It may map the memory, end the program, or jump.
      FaultFrame &Frame = takeFrame();
      chain(Signal, Info, Context);
      ActiveFrame = &Frame;
    } else {
      leaveFrame(takeFrame(), Signal, Address);
    }
  } else {
    chain(Signal, Info, Context);
  }
  errno = SavedErrno;
}

void mneme::host::prepareFaults() {
  for (unsigned I = 0; I != NumSignals; ++I) {
    // The application may have installed its own handler since the last launch.
    struct sigaction Current;
    if (sigaction(Signals[I], nullptr, &Current) != 0 ||
        ((Current.sa_flags & SA_SIGINFO) &&
         Current.sa_sigaction == handleSignal))
      continue;
    Previous[I] = Current;
    struct sigaction Ours;
    memset(&Ours, 0, sizeof(Ours));
    Ours.sa_sigaction = handleSignal;
    // SA_NODEFER: we leave by a jump that does not restore the signal mask.
    Ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART;
    sigaction(Signals[I], &Ours, nullptr);
  }

  static thread_local bool HaveStack __attribute__((tls_model("initial-exec")));
  if (HaveStack)
    return;
  HaveStack = true;
  stack_t Stack;
  if (sigaltstack(nullptr, &Stack) == 0 && !(Stack.ss_flags & SS_DISABLE) &&
      Stack.ss_size >= SignalStackSize)
    return;
  void *Base = mmap(nullptr, SignalStackSize, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (Base == MAP_FAILED)
    return;
  memset(&Stack, 0, sizeof(Stack));
  Stack.ss_sp = Base;
  Stack.ss_size = SignalStackSize;
  sigaltstack(&Stack, nullptr);
}

void mneme::host::unblockSignals(sigset_t &Old) {
  sigset_t Set;
  sigemptyset(&Set);
  for (int Signal : Signals)
    sigaddset(&Set, Signal);
  pthread_sigmask(SIG_UNBLOCK, &Set, &Old);
}

void mneme::host::restoreSignals(const sigset_t &Old) {
  pthread_sigmask(SIG_SETMASK, &Old, nullptr);
}

bool mneme::host::enterFaultFrame(FaultFrame &Frame, void (*Body)(void *),
                                  void *Arg) {
  FaultFrame *Outer = ActiveFrame;
  if (sigsetjmp(Frame.Resume, 0) != 0) {
    ActiveFrame = Outer;
    Worker *W = TheWorker;
    if (W && W->Bounds.InFiber) {
      W->Bounds.InFiber = false;
      endSwitch(nullptr, nullptr);
    }
    return false;
  }
  ActiveFrame = &Frame;
  Body(Arg);
  ActiveFrame = Outer;
  return true;
}

static void setFailure(LaunchState &L, int Status, uint64_t Address,
                       const char *Format, va_list Args) {
  int None = MNEME_HOST_OK;
  if (!L.Status.compare_exchange_strong(None, Status))
    return;
  L.Result->FaultAddress = Address;
  vsnprintf(L.Result->Message, sizeof(L.Result->Message), Format, Args);
}

void mneme::host::failLaunch(LaunchState &L, int Status, const char *Format,
                             ...) {
  va_list Args;
  va_start(Args, Format);
  setFailure(L, Status, 0, Format, Args);
  va_end(Args);
}

static void failAt(LaunchState &L, int Status, uint64_t Address,
                   const char *Format, ...) {
  va_list Args;
  va_start(Args, Format);
  setFailure(L, Status, Address, Format, Args);
  va_end(Args);
}

void mneme::host::leaveKernel(Worker &W, int Status, const char *Format, ...) {
  va_list Args;
  va_start(Args, Format);
  setFailure(*W.Launch, Status, 0, Format, Args);
  va_end(Args);
  leaveFrame(takeFrame(), 0, 0);
}

void mneme::host::reportFault(Worker &W) {
  LaunchState &L = *W.Launch;
  int Signal = W.Fault.Signal;
  if (Signal == 0 || Signal == SIGURG)
    return; // leaveKernel or an interrupt: already reported.
  const char *Name = L.Kernel->Name;
  static const uint32_t NoBlock[3] = {0, 0, 0};
  const uint32_t *At = W.Active ? W.Active->Block.BlockIdx : NoBlock;
  uint64_t Address = W.Fault.Address;
  switch (Signal) {
  case SIGSEGV:
  case SIGBUS:
    if (W.Active && isFiberGuard(*W.Active, Address))
      failAt(L, MNEME_HOST_ILLEGAL_ADDRESS, Address,
             "stack overflow in kernel '%s', block (%u,%u,%u)", Name, At[0],
             At[1], At[2]);
    else
      failAt(L, MNEME_HOST_ILLEGAL_ADDRESS, Address,
             "illegal address 0x%llx in kernel '%s', block (%u,%u,%u)",
             static_cast<unsigned long long>(Address), Name, At[0], At[1],
             At[2]);
    return;
  case SIGFPE:
    failLaunch(L, MNEME_HOST_TRAP,
               "integer division by zero in kernel '%s', block (%u,%u,%u)",
               Name, At[0], At[1], At[2]);
    return;
  default:
    failLaunch(L, MNEME_HOST_ILLEGAL_INSTRUCTION,
               "illegal instruction in kernel '%s', block (%u,%u,%u)", Name,
               At[0], At[1], At[2]);
    return;
  }
}

void mneme::host::enterBusy(Worker &W) { W.Busy = W.Busy + 1; }

void mneme::host::leaveBusy(Worker &W) {
  W.Busy = W.Busy - 1;
  if (W.Busy == 0 && W.LeaveLater) {
    W.LeaveLater = 0;
    leaveFrame(takeFrame(), SIGURG, 0);
  }
}

mneme::host::Deadline::Deadline(LaunchState &L, double Seconds) : Launch(L) {
  if (!(Seconds > 0))
    return;
  struct sigevent Event;
  memset(&Event, 0, sizeof(Event));
  Event.sigev_notify = SIGEV_THREAD_ID;
  Event.sigev_signo = SIGURG;
  Event.sigev_value.sival_ptr = &Limit;
  Event._sigev_un._tid = syscall(SYS_gettid);
  if (timer_create(CLOCK_MONOTONIC, &Event, &Timer) != 0)
    return;
  Armed = true;
  Extension = llvm::mneme::ThreadExtension(Seconds);
  Limit.store(this, std::memory_order_release);
  arm(Seconds);
}

void mneme::host::Deadline::arm(double Seconds) {
  if (Seconds > 1e9)
    Seconds = 1e9; // Decades, effectively unlimited.
  struct itimerspec Spec;
  double Whole = static_cast<double>(static_cast<int64_t>(Seconds));
  Spec.it_value.tv_sec = static_cast<time_t>(Whole);
  Spec.it_value.tv_nsec = static_cast<long>((Seconds - Whole) * 1e9);
  if (Spec.it_value.tv_sec == 0 && Spec.it_value.tv_nsec == 0)
    Spec.it_value.tv_nsec = 1; // Zero would disarm the timer.
  Spec.it_interval.tv_sec = 0;
  Spec.it_interval.tv_nsec = 0;
  timer_settime(Timer, 0, &Spec, nullptr);
}

void mneme::host::Deadline::pass() {
  if (double More = Extension.take())
    return arm(More);
  failLaunch(Launch, MNEME_HOST_TIMEOUT, "kernel '%s' ran longer than %g s",
             Launch.Kernel->Name, Launch.Config->TimeoutSeconds);
  interruptWorkers(TheWorker);
}

mneme::host::Deadline::~Deadline() {
  if (!Armed)
    return;
  Limit.store(nullptr, std::memory_order_release);
  timer_delete(Timer);
}

namespace {
struct CopyRequest {
  void *Dst;
  const void *Src; ///< Null for a memset.
  int Value;
  size_t Size;
};
} // namespace

static int runCopy(CopyRequest &Request, bool AsksHandlers) {
  if (Request.Size == 0)
    return 0;
  prepareFaults();
  FaultFrame Frame;
  Frame.AsksHandlers = AsksHandlers;
  bool Ok = enterFaultFrame(
      Frame,
      [](void *Arg) {
        const CopyRequest &R = *static_cast<CopyRequest *>(Arg);
        if (R.Src)
          memmove(R.Dst, R.Src, R.Size);
        else
          memset(R.Dst, R.Value, R.Size);
      },
      &Request);
  return Ok ? 0 : -1;
}

extern "C" int mneme_host_copy(void *Dst, const void *Src, size_t Size,
                               int AsksHandlers) {
  if (Size != 0 && (!Src || !Dst))
    return -1;
  CopyRequest Request = {Dst, Src, 0, Size};
  return runCopy(Request, AsksHandlers);
}

extern "C" int mneme_host_set(void *Dst, int Value, size_t Size,
                              int AsksHandlers) {
  if (Size != 0 && !Dst)
    return -1;
  CopyRequest Request = {Dst, nullptr, Value, Size};
  return runCopy(Request, AsksHandlers);
}
