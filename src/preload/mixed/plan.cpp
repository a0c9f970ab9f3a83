#include "preload/mixed/plan.hpp"

#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "lockwright/env/native/environ.hpp"
#include "lockwright/env/native/fatal.hpp"
#include "lockwright/env/native/pool.hpp"
#include "preload/mixed/loaded.hpp"
#include "preload/stats_page.hpp"

namespace lockwright::preload {
namespace {

constexpr char variable[] = "LOCKWRIGHT_PLAN";

struct row {
  char name[32];
  algorithm number;
};

constexpr row algorithms[] = {
#define LOCKWRIGHT_LOCK(lock_name, identifier, ...) {lock_name, algorithm::of_##identifier},
#include "lockwright/built.def"
#undef LOCKWRIGHT_LOCK
};

/// The algorithm of that name; unchosen if there is none.
algorithm find(const char* name) {
  if (strcmp(name, "pthread") == 0) {
    return algorithm::c_library;
  }
  for (const row& each : algorithms) {
    if (strcmp(name, each.name) == 0) {
      return each.number;
    }
  }
  return algorithm::unchosen;
}

/// The first plan that was read. A second one, read by a thread at the same time,
/// is dropped: nothing has been counted in it.
std::atomic<plan*> current{nullptr};

/// Room for a plan of few entries, on a page that is in use anyway.
alignas(8) char small_room[1024];
std::atomic<bool> small_room_is_taken{false};

}  // namespace

/// Parses a copy of the text. All that it makes is allocated consecutively in the small room, or
/// in pages of its own.
class plan::reader {
 public:
  explicit reader(const char* text) : length_(strlen(text) + 1) {
    count_lines(text);
    bytes_ = most_bytes();
    is_small_ = bytes_ <= sizeof small_room && !small_room_is_taken.exchange(true);
    pages_ = is_small_ ? small_room : static_cast<char*>(native_env::map_pages(bytes_));
    if (pages_ != nullptr) {
      free_ = pages_;
      made_ = take<plan>(1);
      at_ = take<char>(length_);
      memcpy(at_, text, length_);
    }
  }

  /// Null if it is no plan, after a line that says so.
  plan* read() {
    if (pages_ == nullptr) {
      native_env::complain("there is no memory for ", variable,
                           "; every mutex stays the C library's");
      return nullptr;
    }
    const bool is_plan = read_all() && made_->entries_ != nullptr;
    if (!is_plan) {
      native_env::complain(variable, " is no plan; every mutex stays the C library's");
    }
    made_->stats_ = map_stats_page();
    return is_plan ? made_ : nullptr;
  }

  /// The small room is not used again.
  void drop() {
    if (!is_small_) {
      native_env::unmap_pages(pages_, bytes_);
    }
  }

 private:
  void count_lines(const char* text) {
    for (const char* line = text; line != nullptr && *line != '\0';) {
      (*line == 'M' ? modules_ : *line == 'R' ? ranges_ : entries_) += 1;
      const char* end = strchr(line, '\n');
      line = end == nullptr ? nullptr : end + 1;
    }
  }

  [[nodiscard]] std::size_t most_bytes() const {
    constexpr std::size_t gap = alignof(plan) - 1;  // may be before each thing that is made
    static_assert(gap + 1 >= alignof(entry) && gap + 1 >= alignof(range));
    // Each name of an algorithm has at least one character, and a space before it.
    const std::size_t names = length_ / 2 * sizeof(algorithm);
    return sizeof(plan) + length_ + gap + modules_ * sizeof(char*) + gap +
           entries_ * (sizeof(entry) + gap) + ranges_ * (sizeof(range) + gap) + names;
  }

  template <class T>
  T* take(std::size_t number) {
    auto at = reinterpret_cast<std::uintptr_t>(free_);
    at = (at + alignof(T) - 1) / alignof(T) * alignof(T);
    free_ = reinterpret_cast<char*>(at) + number * sizeof(T);
    return reinterpret_cast<T*>(at);
  }

  /// The rest of the line if `whole`, else the next word of it; null at its end.
  char* word(bool whole = false) {
    while (*at_ == ' ') {
      ++at_;
    }
    if (*at_ == '\n' || *at_ == '\0') {
      return nullptr;
    }
    char* begin = at_;
    while (*at_ != '\n' && *at_ != '\0' && (whole || *at_ != ' ')) {
      ++at_;
    }
    ended_line_ = *at_ != ' ';
    if (*at_ != '\0') {
      *at_++ = '\0';
    }
    return begin;
  }

  bool number(std::uint64_t& value) {
    const char* digits = ended_line_ ? nullptr : word();
    if (digits == nullptr) {
      return false;
    }
    char* end = nullptr;
    value = strtoull(digits, &end, 16);
    return *end == '\0';
  }

  bool read_all() {
    // All files stand first, then all others' algorithms, then the entries.
    made_->modules_ = take<const char*>(modules_);
    made_->entries_ = take<entry>(entries_);
    while (*at_ != '\0') {
      const char what = *at_++;
      ended_line_ = false;
      if (!(what == 'M' ? read_module() : what == 'R' ? read_range() : read_entry(what))) {
        return false;
      }
    }
    return made_->entry_number_ != 0;
  }

  bool read_module() {
    made_->modules_[made_->module_number_++] = word(true);
    return made_->modules_[made_->module_number_ - 1] != nullptr;
  }

  bool read_entry(char what) {
    const bool of_all_others = made_->entry_number_ == 0;
    if (made_->entry_number_ == most_entries || what != (of_all_others ? 'D' : 'E')) {
      return false;
    }
    entry& one = made_->entries_[made_->entry_number_++];
    std::uint64_t by = 0;
    if (!of_all_others) {
      if (!number(by)) {
        return false;
      }
      one.by = static_cast<std::uint32_t>(by);
      if (*at_ == '-') {
        one.ordinal = any;
        word();
      } else if (!number(one.ordinal)) {
        return false;
      }
    }
    one.algorithms = take<algorithm>(0);
    while (!ended_line_) {
      const char* name = word();
      const algorithm which = name == nullptr ? algorithm::unchosen : find(name);
      if (which == algorithm::unchosen) {
        return false;
      }
      *take<algorithm>(1) = which;
      ++one.algorithm_number;
    }
    one.ranges = take<range>(0);
    return one.algorithm_number != 0;
  }

  bool read_range() {
    if (made_->entry_number_ < 2) {
      return false;
    }
    range& one = *take<range>(1);
    std::uint64_t module = 0;
    if (!number(module) || !number(one.from) || !number(one.to)) {
      return false;
    }
    one.module = static_cast<std::uint32_t>(module);
    ++made_->entries_[made_->entry_number_ - 1].range_number;
    return module < made_->module_number_;
  }

  std::size_t length_;
  std::size_t modules_ = 0;
  std::size_t entries_ = 0;
  std::size_t ranges_ = 0;
  std::size_t bytes_;
  bool is_small_;
  char* pages_ = nullptr;
  char* free_ = nullptr;
  plan* made_ = nullptr;
  char* at_ = nullptr;
  bool ended_line_ = false;
};

plan& the_plan() {
  plan* known = current.load(std::memory_order_acquire);
  if (known != nullptr) {
    return *known;
  }
  const char* text = native_env::environment_variable(variable);
  plan::reader given(text == nullptr || *text == '\0' ? "D pthread\n" : text);
  plan* mine = given.read();
  if (mine == nullptr) {
    given.drop();
    mine = plan::reader("D pthread\n").read();
  }
  if (!current.compare_exchange_strong(known, mine, std::memory_order_acq_rel,
                                       std::memory_order_acquire)) {
    return *known;
  }
  return *mine;
}

namespace {

/// So that the program's own changes of the environment come too late.
[[gnu::constructor]] void read_the_plan() { the_plan(); }

}  // namespace

bool plan::entry::covers(const init_site& where) const {
  if ((by & by_any) != 0) {
    return true;
  }
  for (std::uint32_t i = 0; i < range_number; ++i) {
    const range& one = ranges[i];
    const bool lies = one.has(where.mutex);
    const bool called = one.has(where.call);
    const bool lies_in_none = where.mutex.module == position::nowhere;
    if (((by & by_variable) != 0 && lies) ||
        ((by & by_initialiser) != 0 && called && where.is_initialised) ||
        ((by & by_first_use) != 0 && called && !where.is_initialised) ||
        ((by & by_library) != 0 && (lies || (called && (where.is_initialised || lies_in_none))))) {
      return true;
    }
  }
  return false;
}

algorithm plan::choose(const init_site& where) {
  std::uint32_t chosen = 0;
  for (std::uint32_t i = 1; i < entry_number_; ++i) {
    entry& one = entries_[i];
    if (!one.covers(where)) {
      continue;
    }
    // Counted whichever entry gets it, because the ordinal counts all mutexes of the site.
    const std::uint64_t ordinal = one.seen.fetch_add(1, std::memory_order_relaxed);
    if (chosen == 0 && (one.ordinal == any || one.ordinal == ordinal)) {
      chosen = i;
    }
  }
  if (stats_ != nullptr) {
    stats_->chosen[chosen].fetch_add(1, std::memory_order_relaxed);
  }
  return entries_[chosen].give();
}

init_site plan::locate(const found_mutex& seen) const {
  if (entry_number_ == 1) {
    return {{position::nowhere, 0}, {position::nowhere, 0}, seen.is_initialised};
  }
  return {locate(seen.mutex), locate(static_cast<const char*>(seen.caller) - 1),
          seen.is_initialised};
}

position plan::locate(const void* address) const {
  const loaded_file file = file_of(address);
  if (file.path == nullptr) {
    return {position::nowhere, 0};
  }
  const char* slash = strrchr(file.path, '/');
  const char* name = slash == nullptr ? file.path : slash + 1;
  std::uint32_t number = 0;
  while (number < module_number_ && strcmp(modules_[number], name) != 0) {
    ++number;
  }
  return {number == module_number_ ? position::elsewhere : number,
          reinterpret_cast<std::uintptr_t>(address) - file.base};
}

}  // namespace lockwright::preload
