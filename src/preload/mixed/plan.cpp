#include "preload/mixed/plan.hpp"

#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "lockwright/env/native/environ.hpp"
#include "lockwright/env/native/fatal.hpp"
#include "lockwright/env/native/pool.hpp"
#include "preload/mixed/loaded.hpp"
#include "preload/rwlock_choice.hpp"
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

/// No number of an algorithm.
constexpr std::uint8_t unknown = 0xff;

/// The names of a rwlock_mode, by its number.
constexpr const char* rwlock_names[] = {
    "keep",
    "mutex",
#define LOCKWRIGHT_RWLOCK(name, ...) name,
#include "lockwright/rwlocks.def"
#undef LOCKWRIGHT_RWLOCK
};

/// Returns the number of the reader-writer lock called `name`; unknown if there is none.
std::uint8_t rwlock_named(const char* name) {
  std::uint8_t number = 0;
  for (const char* each : rwlock_names) {
    if (strcmp(name, each) == 0) {
      return number;
    }
    ++number;
  }
  return unknown;
}

/// Returns the number of the algorithm called `name`; unknown if there is none.
std::uint8_t algorithm_named(const char* name) {
  if (strcmp(name, "pthread") == 0) {
    return static_cast<std::uint8_t>(algorithm::c_library);
  }
  for (const row& each : algorithms) {
    if (strcmp(name, each.name) == 0) {
      return static_cast<std::uint8_t>(each.number);
    }
  }
  return unknown;
}

/// The first plan that was read. One that another thread reads at the same time is dropped:
/// nothing has been counted in it.
std::atomic<plan*> first_plan{nullptr};

/// Memory for a plan of few entries, on a page that is in use anyway.
alignas(8) char small_buffer[1024];
std::atomic<bool> small_buffer_is_used{false};

}  // namespace

/// Parses a copy of the text. Allocates everything consecutively in the small buffer, or in pages
/// of its own.
class plan::reader {
 public:
  explicit reader(const char* text) : length_(strlen(text) + 1) {
    count_lines(text);
    bytes_ = max_bytes();
    is_small_ = bytes_ <= sizeof small_buffer && !small_buffer_is_used.exchange(true);
    pages_ = is_small_ ? small_buffer : static_cast<char*>(native_env::map_pages(bytes_));
    if (pages_ != nullptr) {
      free_ = pages_;
      plan_ = allocate<plan>(1);
      position_ = allocate<char>(length_);
      memcpy(position_, text, length_);
    }
  }

  /// Returns the plan; null after an error message if the text is none.
  plan* read() {
    if (pages_ == nullptr) {
      native_env::complain("there is no memory for ", variable,
                           "; every mutex stays the C library's");
      return nullptr;
    }
    const bool is_plan = read_lines() && plan_->entries_ != nullptr;
    if (!is_plan) {
      native_env::complain(variable, " is not a plan; every mutex stays the C library's");
    }
    plan_->stats_ = map_stats_page();
    return is_plan ? plan_ : nullptr;
  }

  /// Frees the memory, except the small buffer, which is not used again.
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

  [[nodiscard]] std::size_t max_bytes() const {
    constexpr std::size_t gap = alignof(plan) - 1;  // may precede each object
    static_assert(gap + 1 >= alignof(entry) && gap + 1 >= alignof(range));
    // Each name of an algorithm has at least one character, and a space before it.
    const std::size_t names = length_ / 2;
    return sizeof(plan) + length_ + gap + modules_ * sizeof(char*) + gap +
           entries_ * (sizeof(entry) + gap) + ranges_ * (sizeof(range) + gap) + names;
  }

  template <class T>
  T* allocate(std::size_t number) {
    auto address = reinterpret_cast<std::uintptr_t>(free_);
    address = (address + alignof(T) - 1) / alignof(T) * alignof(T);
    free_ = reinterpret_cast<char*>(address) + number * sizeof(T);
    return reinterpret_cast<T*>(address);
  }

  /// Returns the rest of the line if `to_end`, else its next word; null at its end.
  char* word(bool to_end = false) {
    while (*position_ == ' ') {
      ++position_;
    }
    if (*position_ == '\n' || *position_ == '\0') {
      return nullptr;
    }
    char* begin = position_;
    while (*position_ != '\n' && *position_ != '\0' && (to_end || *position_ != ' ')) {
      ++position_;
    }
    ended_line_ = *position_ != ' ';
    if (*position_ != '\0') {
      *position_++ = '\0';
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

  bool read_lines() {
    // The files come first, then the default entry, then the others.
    plan_->modules_ = allocate<const char*>(modules_);
    plan_->entries_ = allocate<entry>(entries_);
    while (*position_ != '\0') {
      const char what = *position_++;
      ended_line_ = false;
      if (!(what == 'M'   ? read_module()
            : what == 'R' ? read_range()
            : what == 'd' ? read_rwlock_default()
                          : read_entry(what))) {
        return false;
      }
    }
    return plan_->entry_number_ != 0;
  }

  bool read_module() {
    plan_->modules_[plan_->module_number_++] = word(true);
    return plan_->modules_[plan_->module_number_ - 1] != nullptr;
  }

  bool read_rwlock_default() {
    if (plan_->entry_number_ == 0 || plan_->entry_number_ == max_entries ||
        plan_->rwlock_default_ != 0) {
      return false;
    }
    plan_->rwlock_default_ = plan_->entry_number_++;
    plan_->entries_[plan_->rwlock_default_].is_for_rwlocks = true;
    return *position_ == '\0' || *position_++ == '\n';
  }

  bool read_entry(char what) {
    const bool is_default = plan_->entry_number_ == 0;
    const bool is_for_rwlocks = what == 'e' && plan_->rwlock_default_ != 0;
    if (plan_->entry_number_ == max_entries ||
        (!is_for_rwlocks && what != (is_default ? 'D' : 'E'))) {
      return false;
    }
    entry& added = plan_->entries_[plan_->entry_number_++];
    added.is_for_rwlocks = is_for_rwlocks;
    std::uint64_t by = 0;
    if (!is_default) {
      if (!number(by)) {
        return false;
      }
      added.by = static_cast<std::uint32_t>(by);
      if (*position_ == '-') {
        added.ordinal = all;
        word();
      } else if (!number(added.ordinal)) {
        return false;
      }
    }
    added.algorithms = allocate<std::uint8_t>(0);
    while (!ended_line_) {
      const char* name = word();
      const std::uint8_t which = name == nullptr  ? unknown
                                 : is_for_rwlocks ? rwlock_named(name)
                                                  : algorithm_named(name);
      if (which == unknown) {
        return false;
      }
      *allocate<std::uint8_t>(1) = which;
      ++added.algorithm_number;
    }
    added.ranges = allocate<range>(0);
    return added.algorithm_number != 0;
  }

  bool read_range() {
    if (plan_->entry_number_ < 2) {
      return false;
    }
    range& added = *allocate<range>(1);
    std::uint64_t module = 0;
    if (!number(module) || !number(added.from) || !number(added.to)) {
      return false;
    }
    added.module = static_cast<std::uint32_t>(module);
    ++plan_->entries_[plan_->entry_number_ - 1].range_number;
    return module < plan_->module_number_;
  }

  std::size_t length_;
  std::size_t modules_ = 0;
  std::size_t entries_ = 0;
  std::size_t ranges_ = 0;
  std::size_t bytes_;
  bool is_small_;
  char* pages_ = nullptr;
  char* free_ = nullptr;
  plan* plan_ = nullptr;
  char* position_ = nullptr;
  bool ended_line_ = false;
};

plan& current_plan() {
  plan* known = first_plan.load(std::memory_order_acquire);
  if (known != nullptr) {
    return *known;
  }
  const char* text = native_env::environment_variable(variable);
  plan::reader reader(text == nullptr || *text == '\0' ? "D pthread\n" : text);
  plan* mine = reader.read();
  if (mine == nullptr) {
    reader.drop();
    mine = plan::reader("D pthread\n").read();
  }
  if (!first_plan.compare_exchange_strong(known, mine, std::memory_order_acq_rel,
                                          std::memory_order_acquire)) {
    return *known;
  }
  return *mine;
}

namespace {

/// Reads the plan before the program can change its environment.
[[gnu::constructor]] void read_plan() { current_plan(); }

}  // namespace

bool plan::entry::covers(const init_site& site) const {
  if ((by & by_any) != 0) {
    return true;
  }
  for (std::uint32_t i = 0; i < range_number; ++i) {
    const bool lies = ranges[i].contains(site.lock);
    const bool called = ranges[i].contains(site.call);
    const bool lies_in_none = site.lock.module == position::nowhere;
    if (((by & by_variable) != 0 && lies) ||
        ((by & by_initialiser) != 0 && called && site.is_initialised) ||
        ((by & by_first_use) != 0 && called && !site.is_initialised) ||
        ((by & by_library) != 0 && (lies || (called && (site.is_initialised || lies_in_none))))) {
      return true;
    }
  }
  return false;
}

algorithm plan::choose(const init_site& site) {
  return static_cast<algorithm>(choose_entry(site, 0).next_algorithm());
}

rwlock_mode plan::choose_rwlock(const init_site& site) {
  entry& chosen = choose_entry(site, rwlock_default_);
  return chosen.algorithm_number == 0 ? interpose::rwlocks.get(default_rwlock)
                                      : static_cast<rwlock_mode>(chosen.next_algorithm());
}

plan::entry& plan::choose_entry(const init_site& site, std::uint32_t otherwise) {
  std::uint32_t chosen = otherwise;
  for (std::uint32_t i = 1; i < entry_number_; ++i) {
    entry& each = entries_[i];
    if (i == rwlock_default_ || each.is_for_rwlocks != (otherwise != 0) || !each.covers(site)) {
      continue;
    }
    // Counted whichever entry is chosen, because the ordinal counts all locks of the site.
    const std::uint64_t ordinal = each.covered.fetch_add(1, std::memory_order_relaxed);
    if (chosen == otherwise && (each.ordinal == all || each.ordinal == ordinal)) {
      chosen = i;
    }
  }
  if (stats_ != nullptr) {
    stats_->chosen[chosen].fetch_add(1, std::memory_order_relaxed);
  }
  return entries_[chosen];
}

init_site plan::locate(const new_lock& candidate) const {
  if (entry_number_ == 1) {
    return {{position::nowhere, 0}, {position::nowhere, 0}, candidate.is_initialised};
  }
  return {locate(candidate.address), locate(static_cast<const char*>(candidate.caller) - 1),
          candidate.is_initialised};
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
