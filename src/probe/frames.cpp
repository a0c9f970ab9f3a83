#include "probe/frames.hpp"

#include <errno.h>
#include <linux/futex.h>
#include <unistd.h>

#include <cstring>

#include "lockwright/env/native/syscall.hpp"

extern "C" {

/// A part of the compiler's unwinder, from its internal header unwind-dw2-fde.h.
struct dwarf_eh_bases {
  void* text;
  void* data;
  void* function;
};
const void* _Unwind_Find_FDE(void* pc, dwarf_eh_bases* bases);

}  // extern "C"

namespace lockwright::probe {
namespace {

using byte = unsigned char;

/// Stands for any kind of memory access, on which the kernel fails without a signal. Sandboxes allow
/// this call, without which no mutex could wait.
bool is_readable(std::uint64_t address) {
  static constinit std::uint32_t other = 0;
  using native_env::argument;
  // Compares the first word, then wakes and moves nobody.
  const long result =
      native_env::system_call(SYS_futex, static_cast<long>(address & ~3ULL),
                              FUTEX_CMP_REQUEUE | FUTEX_PRIVATE_FLAG, 0, 0, argument(&other), 0);
  return result >= 0 || result == -EAGAIN;
}

/// Larger frames, which are rare, end a walk.
constexpr std::uint64_t largest_frame = 16 << 20;

/// Returns true if all from the readable byte before `begin` to `end` can be read.
bool is_readable(std::uint64_t begin, std::uint64_t end) {
  if (end <= begin || end - begin > largest_frame) {
    return false;
  }
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  for (std::uint64_t each = (begin - 1) / page + 1; each <= (end - 1) / page; ++each) {
    if (!is_readable(each * page)) {
      return false;
    }
  }
  return true;
}

template <class Value>
Value value_at(std::uint64_t address) {
  Value value;
  std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
  return value;
}

class reader {
 public:
  explicit reader(const void* begin) : at_(static_cast<const byte*>(begin)) {}

  [[nodiscard]] const byte* at() const { return at_; }
  void skip(std::uint64_t bytes) { at_ += bytes; }

  template <class Value>
  Value fixed() {
    const auto value = value_at<Value>(reinterpret_cast<std::uint64_t>(at_));
    at_ += sizeof value;
    return value;
  }

  std::uint64_t variable() { return number().value; }

  std::int64_t signed_variable() {
    const auto [value, bits, last] = number();
    const bool is_negative = (last & 0x40) != 0 && bits < 64;
    return static_cast<std::int64_t>(is_negative ? value | ~std::uint64_t{0} << bits : value);
  }

 private:
  struct encoded {
    std::uint64_t value;
    unsigned bits;
    byte last;
  };
  encoded number() {
    encoded found{.value = 0, .bits = 0, .last = 0x80};
    while ((found.last & 0x80) != 0) {
      found.last = *at_++;
      found.value |= found.bits < 64 ? std::uint64_t{found.last & 0x7fU} << found.bits : 0;
      found.bits += 7;
    }
    return found;
  }

  const byte* at_;
};

/// Where a frame ends, and where its return address is.
struct rules {
  std::uint64_t base;      ///< register
  std::int64_t offset;     ///< of the frame's end from it
  const byte* expression;  ///< instead of these
  enum : byte { saved, in_register, none, elsewhere } return_address;
  std::int64_t saved_at;  ///< from the frame's end
};

/// The tables of one function.
class function_tables {
 public:
  function_tables(const void* entry, std::uint64_t function) : location_(function) {
    reader in(entry);
    const auto length = in.fixed<std::uint32_t>();
    end_ = in.at() + length;
    const byte* common_pointer = in.at();
    const auto distance = in.fixed<std::int32_t>();
    read_common(common_pointer - distance);
    in.skip(std::uint64_t{2} * address_size_);
    if (is_augmented_) {
      in.skip(in.variable());
    }
    begin_ = in.at();
  }

  [[nodiscard]] bool is_signal_handlers_caller() const { return is_signal_frame_; }
  [[nodiscard]] std::uint64_t return_register() const { return return_register_; }

  /// Returns the rules that hold at `pc`; false for instructions that no compiler emits.
  bool rules_at(std::uint64_t pc, rules& found) {
    found = {.base = 0,
             .offset = 0,
             .expression = nullptr,
             .return_address = rules::in_register,
             .saved_at = 0};
    if (address_size_ == 0 || !perform(common_begin_, common_end_, ~0ULL, found)) {
      return false;
    }
    initial_ = found;
    return perform(begin_, end_, pc, found);
  }

 private:
  void read_common(const void* entry) {
    reader in(entry);
    const auto length = in.fixed<std::uint32_t>();
    common_end_ = in.at() + length;
    in.skip(sizeof(std::uint32_t));
    const byte version = in.fixed<byte>();
    const char* augmentation = reinterpret_cast<const char*>(in.at());
    in.skip(std::strlen(augmentation) + 1);
    code_alignment_ = in.variable();
    data_alignment_ = in.signed_variable();
    return_register_ = version == 1 ? in.fixed<byte>() : in.variable();
    common_begin_ = in.at();
    if (*augmentation != 'z') {
      return;
    }
    is_augmented_ = true;
    const std::uint64_t size = in.variable();
    common_begin_ = in.at() + size;
    for (const char* each = augmentation + 1; *each != '\0'; ++each) {
      switch (*each) {
        case 'R':
          address_size_ = size_of_encoded(in.fixed<byte>());
          break;
        case 'P':
          in.skip(size_of_encoded(in.fixed<byte>()));
          break;
        case 'L':
          in.skip(1);
          break;
        case 'S':
          is_signal_frame_ = true;
          break;
        default:
          break;
      }
    }
  }

  /// Returns 0 for a size that varies.
  static unsigned size_of_encoded(byte encoding) {
    switch (encoding & 7) {
      case 0:
      case 4:
        return 8;
      case 2:
        return 2;
      case 3:
        return 4;
      default:
        return 0;
    }
  }

  void set(rules& at, std::uint64_t number, decltype(rules::return_address) rule,
           std::int64_t saved_at = 0) const {
    if (number == return_register_) {
      at.return_address = rule;
      at.saved_at = saved_at;
    }
  }

  /// Performs the instructions for the addresses up to `pc`.
  bool perform(const byte* begin, const byte* end, std::uint64_t pc, rules& now) {
    reader in(begin);
    while (in.at() < end && location_ <= pc) {
      const byte instruction = in.fixed<byte>();
      const byte low = instruction & 0x3f;
      switch (instruction & 0xc0) {
        case 0x40:
          location_ += low * code_alignment_;
          break;
        case 0x80:
          set(now, low, rules::saved, scaled(in.variable()));
          break;
        case 0xc0:
          set(now, low, initial_.return_address, initial_.saved_at);
          break;
        default:
          if (!perform_long(low, in, now)) {
            return false;
          }
      }
    }
    return true;
  }

  [[nodiscard]] std::int64_t scaled(std::uint64_t factor) const {
    return static_cast<std::int64_t>(factor) * data_alignment_;
  }

  /// Performs an instruction of DWARF 5, section 6.4.2, with separate operands.
  bool perform_long(byte instruction, reader& in, rules& now) {
    // By the instruction's number: a block, a signed or unsigned number, or one of so many bytes.
    static constexpr char operands[][3] = {"",   "?",  "1",  "2", "4",  "uu", "u", "u",
                                           "u",  "uu", "",   "",  "uu", "u",  "u", "b",
                                           "ub", "us", "us", "s", "uu", "us", "ub"};
    constexpr byte signed_return_address = 0x2d;
    constexpr byte size_of_arguments = 0x2e;
    if (instruction == signed_return_address) {
      return true;
    }
    if (instruction == size_of_arguments) {
      in.variable();
      return true;
    }
    if (instruction >= sizeof operands / sizeof *operands) {
      return false;
    }
    std::uint64_t values[2]{};
    for (unsigned i = 0; operands[instruction][i] != '\0'; ++i) {
      switch (operands[instruction][i]) {
        case '1':
          values[i] = in.fixed<byte>();
          break;
        case '2':
          values[i] = in.fixed<std::uint16_t>();
          break;
        case '4':
          values[i] = in.fixed<std::uint32_t>();
          break;
        case 'u':
          values[i] = in.variable();
          break;
        case 's':
          values[i] = static_cast<std::uint64_t>(in.signed_variable());
          break;
        case 'b':
          values[i] = reinterpret_cast<std::uint64_t>(in.at());
          in.skip(in.variable());
          break;
        default:
          return false;
      }
    }
    const auto [first, second] = values;
    switch (instruction) {
      case 0x02:
      case 0x03:
      case 0x04:
        location_ += first * code_alignment_;
        break;
      case 0x05:
      case 0x11:
        set(now, first, rules::saved, scaled(second));
        break;
      case 0x06:
        set(now, first, initial_.return_address, initial_.saved_at);
        break;
      case 0x07:
        set(now, first, rules::none);
        break;
      case 0x08:
        set(now, first, rules::in_register);
        break;
      case 0x09:
      case 0x10:
      case 0x14:
      case 0x15:
      case 0x16:
        set(now, first, rules::elsewhere);
        break;
      case 0x0a:
        if (remembered_ == most_remembered_) {
          return false;
        }
        states_[remembered_++] = now;
        break;
      case 0x0b:
        if (remembered_ == 0) {
          return false;
        }
        now = states_[--remembered_];
        break;
      case 0x0c:
      case 0x0d:
      case 0x12:
        now.base = first;
        now.offset = instruction == 0x0d   ? now.offset
                     : instruction == 0x0c ? static_cast<std::int64_t>(second)
                                           : scaled(second);
        now.expression = nullptr;
        break;
      case 0x0e:
        now.offset = static_cast<std::int64_t>(first);
        break;
      case 0x13:
        now.offset = scaled(first);
        break;
      case 0x0f:
        now.expression = reinterpret_cast<const byte*>(first);
        break;
      default:
        break;
    }
    return true;
  }

  std::uint64_t location_;
  const byte* begin_ = nullptr;
  const byte* end_ = nullptr;
  const byte* common_begin_ = nullptr;
  const byte* common_end_ = nullptr;
  std::uint64_t code_alignment_ = 1;
  std::int64_t data_alignment_ = 1;
  std::uint64_t return_register_ = 0;
  unsigned address_size_ = 8;
  bool is_augmented_ = false;
  bool is_signal_frame_ = false;
  rules initial_{};
  static constexpr unsigned most_remembered_ = 8;
  rules states_[most_remembered_]{};
  unsigned remembered_ = 0;
};

#if defined(__x86_64__)
constexpr std::uint64_t stack_pointer = 7;
bool is_kept_by_calls(std::uint64_t number) {
  return number == 3 || number == 6 || (12 <= number && number <= 15);
}
std::uint64_t without_signature(std::uint64_t pc) { return pc; }
bool follows_call(std::uint64_t pc) {
  if (value_at<byte>(pc - 5) == 0xe8) {
    return true;
  }
  constexpr unsigned lengths[] = {2, 3, 4, 6, 7};  // of calls through a register or memory
  for (const unsigned length : lengths) {
    if (value_at<byte>(pc - length) == 0xff && (value_at<byte>(pc - length + 1) & 0x38) == 0x10) {
      return true;
    }
  }
  return false;
}
#elif defined(__aarch64__)
constexpr std::uint64_t stack_pointer = 31;
bool is_kept_by_calls(std::uint64_t number) { return 19 <= number && number <= 30; }
std::uint64_t without_signature(std::uint64_t pc) { return pc & ((1ULL << 48) - 1); }
bool follows_call(std::uint64_t pc) {
  const auto before = value_at<std::uint32_t>(pc - 4);
  return before >> 26 == 0x25 || (before & 0xfefff000) == 0xd63f0000;
}
#endif

const void* tables_of(std::uint64_t pc, dwarf_eh_bases& bases) {
  return _Unwind_Find_FDE(reinterpret_cast<void*>(pc), &bases);
}

/// Returns the value of a register; 0 for one that the unwinder may not know.
std::uint64_t register_of(_Unwind_Context* context, std::uint64_t number) {
  if (number == stack_pointer) {
    return _Unwind_GetCFA(context);
  }
  return is_kept_by_calls(number) ? _Unwind_GetGR(context, static_cast<int>(number)) : 0;
}

/// Returns the end of the context's frame; 0 if it is not known.
std::uint64_t frame_end(_Unwind_Context* context, const rules& now) {
  if (now.expression == nullptr) {
    const std::uint64_t base = register_of(context, now.base);
    return base == 0 ? 0 : base + static_cast<std::uint64_t>(now.offset);
  }
  // Compilers use a register with an offset, and what is stored there.
  constexpr byte of_register = 0x70;
  constexpr byte stored = 0x06;
  reader in(now.expression);
  const std::uint64_t size = in.variable();
  const byte* end = in.at() + size;
  const byte operation = in.fixed<byte>();
  const std::uint64_t base =
      operation < of_register ? 0 : register_of(context, operation - of_register);
  if (base == 0) {
    return 0;
  }
  const std::uint64_t address = base + static_cast<std::uint64_t>(in.signed_variable());
  if (in.at() == end) {
    return address;
  }
  const bool is_stored = in.fixed<byte>() == stored && in.at() == end;
  return is_stored && is_readable(address) && is_readable(address + 7)
             ? value_at<std::uint64_t>(address)
             : 0;
}

}  // namespace

outer_frame outer_frame_of(_Unwind_Context* context) {
  constexpr outer_frame none{.pc = 0, .is_reachable = false};
  // The address of the next instruction belongs to another function after a last call.
  int is_next = 0;
  const std::uint64_t next = _Unwind_GetIPInfo(context, &is_next);
  const std::uint64_t pc = next - (is_next == 0 ? 1 : 0);
  dwarf_eh_bases bases{};
  const void* entry = tables_of(pc, bases);
  if (entry == nullptr) {
    return none;
  }
  function_tables tables(entry, reinterpret_cast<std::uint64_t>(bases.function));
  if (tables.is_signal_handlers_caller()) {
    return {.pc = 0, .is_reachable = true};  // The kernel has written its frame.
  }
  rules now{};
  if (!tables.rules_at(pc, now)) {
    return none;
  }
  const std::uint64_t begin = _Unwind_GetCFA(context);
  const std::uint64_t end = frame_end(context, now);
  if (!is_readable(begin, end)) {
    return none;
  }
  std::uint64_t outer = 0;
  const std::uint64_t saved_at = end + static_cast<std::uint64_t>(now.saved_at);
  if (now.return_address == rules::in_register) {
    outer = register_of(context, tables.return_register());
  } else if (now.return_address == rules::saved && begin <= saved_at && saved_at <= end - 8) {
    outer = value_at<std::uint64_t>(saved_at);
  }
  outer = without_signature(outer);
  const void* outer_entry = tables_of(outer - 1, bases);
  if (outer_entry != nullptr &&
      function_tables(outer_entry, reinterpret_cast<std::uint64_t>(bases.function))
          .is_signal_handlers_caller()) {
    return {.pc = outer, .is_reachable = true};
  }
  // Code that was generated at run time has no tables.
  const bool is_code = outer_entry != nullptr || (is_readable(outer - 8) && is_readable(outer - 1));
  return is_code && follows_call(outer)
             ? outer_frame{.pc = outer, .is_reachable = outer_entry != nullptr}
             : none;
}

}  // namespace lockwright::probe
