// Annotations for Valgrind's race detectors, Helgrind and DRD. They support the C library's
// locks; other locks they report as unordered accesses.
//
// A request is a sequence of instructions without effect that no compiler emits and that
// Valgrind recognises. Without Valgrind it costs a few cycles.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lockwright::native_env::valgrind {

/// Requests by their published numbers. Those for locks and orders are the same in both tools.
enum class request : std::uint64_t {
  running_on_valgrind = 0x1001,
  helgrind = std::uint64_t{'H'} << 24 | 'G' << 16,
  lock_destroyed = helgrind + 256 + 15,
  lock_acquired = helgrind + 256 + 17,
  lock_released = helgrind + 256 + 18,
  happens_before = helgrind + 256 + 33,
  happens_after = helgrind + 256 + 34,
  happens_forget = helgrind + 256 + 35,
  helgrind_hide = helgrind + 256 + 39,
  helgrind_show = helgrind + 256 + 40,
  drd = std::uint64_t{'D'} << 24 | 'R' << 16,
  drd_hide = drd + 2,
  drd_show = drd + 3,
};

/// Valgrind's answer; 0 if the program does not run under it.
inline std::uint64_t send(request what, std::uint64_t a = 0, std::uint64_t b = 0) {
  const volatile std::uint64_t words[6] = {static_cast<std::uint64_t>(what), a, b, 0, 0, 0};
#if defined(__x86_64__)
  std::uint64_t answer = 0;
  asm volatile(
      "rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi\n\t"
      "xchgq %%rbx, %%rbx"
      : "+d"(answer)
      : "a"(words)
      : "cc", "memory");
  return answer;
#elif defined(__aarch64__)
  register std::uint64_t x3 asm("x3") = 0;
  register const volatile std::uint64_t* x4 asm("x4") = words;
  asm volatile(
      "ror x12, x12, #3; ror x12, x12, #13; ror x12, x12, #51; ror x12, x12, #61\n\t"
      "orr x10, x10, x10"
      : "+r"(x3)
      : "r"(x4)
      : "cc", "memory");
  return x3;
#endif
}

inline std::uint64_t number(const volatile void* address) {
  return reinterpret_cast<std::uint64_t>(address);
}

inline bool is_running() { return send(request::running_on_valgrind) != 0; }

/// From now on no access to this memory is reported as a race: it belongs to a lock.
inline void hide(const volatile void* start, std::size_t bytes) {
  send(request::helgrind_hide, number(start), bytes);
  send(request::drd_hide, number(start), bytes);
}

/// Ordinary memory again, used by the calling thread only.
inline void show(const volatile void* start, std::size_t bytes) {
  send(request::helgrind_show, number(start), bytes);
  send(request::drd_show, number(start), bytes);
}

/// The caller has acquired `lock`, exclusively or shared.
inline void acquired(const volatile void* lock, bool exclusive = true) {
  send(request::lock_acquired, number(lock), exclusive ? 1 : 0);
}

/// The caller is about to release `lock`.
inline void released(const volatile void* lock, bool exclusive = true) {
  send(request::lock_released, number(lock), exclusive ? 1 : 0);
}

/// The lock no longer exists. The tools must have seen it acquired.
inline void destroyed(const volatile void* lock) { send(request::lock_destroyed, number(lock)); }

/// The caller's earlier steps happen before others' steps after happens_after(tag).
inline void happens_before(const volatile void* tag) { send(request::happens_before, number(tag)); }
inline void happens_after(const volatile void* tag) { send(request::happens_after, number(tag)); }
inline void forget_order(const volatile void* tag) { send(request::happens_forget, number(tag)); }

}  // namespace lockwright::native_env::valgrind
