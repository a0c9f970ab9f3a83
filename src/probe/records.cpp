#include "probe/records.hpp"

#include <link.h>

#include <cstring>

#include "probe/clock.hpp"

namespace lockwright::probe {
namespace {

constexpr std::uint32_t own_records =
    profile_buffer::record_numbers - profile_buffer::shared_records;

std::uint64_t scrambled(std::uint64_t value) {
  value *= 0x9e3779b97f4a7c15;
  return value ^ value >> 32;
}

bool is_of(const record& one, const mutex_words& mutex) {
  return one.address == reinterpret_cast<std::uint64_t>(&mutex) ||
         (one.kind & record::is_shared) != 0;
}

/// What is common to all mutexes of a place.
record& shared_record(profile_buffer& target, std::uint32_t init_site, std::uint64_t caller) {
  const std::uint64_t of = init_site != 0 ? init_site & ((1U << init_stack_shift) - 1) : caller;
  record& one = target.records[own_records + scrambled(of) % profile_buffer::shared_records];
  one.init_site = init_site;
  one.first_site = caller;
  one.kind = record::is_shared;
  return one;
}

[[gnu::noinline, gnu::cold]] record& make_record(profile_buffer& target, mutex_words& mutex,
                                                 std::uint64_t caller) {
  auto* link = reinterpret_cast<std::uint64_t*>(&mutex.link);
  std::uint64_t present = __atomic_load_n(link, __ATOMIC_RELAXED);
  const auto id = static_cast<std::uint32_t>(present);
  const std::uint32_t init_site = (id & is_init_site) != 0 ? id & ~is_init_site : 0;
  record* made = nullptr;
  // Looked at first, lest the number goes round.
  if (target.records_used.load(std::memory_order_relaxed) < own_records) {
    const std::uint32_t number = target.records_used.fetch_add(1, std::memory_order_relaxed);
    if (number < own_records) {
      made = &target.records[number];
      made->address = reinterpret_cast<std::uint64_t>(&mutex);
      made->init_site = init_site;
      made->ordinal = init_site != 0 ? static_cast<std::uint32_t>(present >> 32) : 0;
      made->kind = mutex.kind & 0xffff;
      made->first_site = caller;
      made->first_seen = ticks();
      note_module(target, made->address);
    }
  }
  if (made == nullptr) {
    made = &shared_record(target, init_site, caller);
  }
  note_module(target, caller);
  const std::uint64_t wanted = number_of(target, *made) + std::uint64_t{1};
  if (!__atomic_compare_exchange_n(link, &present, wanted, false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_ACQUIRE)) {
    if (record* other = known_record(target, mutex); other != nullptr) {
      if ((made->kind & record::is_shared) == 0) {
        made->kind |= record::is_void;
      }
      return *other;
    }
  }
  return *made;
}

}  // namespace

record* known_record(profile_buffer& target, const mutex_words& mutex) {
  const std::uint32_t id = __atomic_load_n(&mutex.link, __ATOMIC_ACQUIRE);
  if (id == 0 || id > profile_buffer::record_numbers) {
    return nullptr;
  }
  record& one = target.records[id - 1];
  return is_of(one, mutex) ? &one : nullptr;
}

record& record_of(profile_buffer& target, mutex_words& mutex, std::uint64_t caller) {
  record* known = known_record(target, mutex);
  return known != nullptr ? *known : make_record(target, mutex, caller);
}

mutex_detail* detail_of(profile_buffer& target, record& of) {
  if (of.detail == 0) [[unlikely]] {
    if (target.details_used.load(std::memory_order_relaxed) >= profile_buffer::detail_numbers) {
      return nullptr;
    }
    const std::uint32_t number = target.details_used.fetch_add(1, std::memory_order_relaxed);
    if (number >= profile_buffer::detail_numbers) {
      return nullptr;
    }
    of.detail = number + 1;
  }
  return &target.details[of.detail - 1];
}

std::uint32_t call_site_of(profile_buffer& target, mutex_detail& of, std::uint64_t caller) {
  if (caller == 0) {
    return 0;
  }
  for (std::uint32_t i = 0; i < mutex_detail::site_numbers; ++i) {
    if (of.sites[i].caller == caller) {
      return i + 1;
    }
    if (of.sites[i].caller == 0) {
      of.sites[i].caller = caller;
      note_module(target, caller);
      return i + 1;
    }
  }
  return 0;
}

wait_edge* wait_edge_of(mutex_detail& of, std::uint32_t holder, std::uint32_t waiter) {
  for (wait_edge& each : of.wait_edges) {
    if (each.times == 0) {
      each.holder = holder;
      each.waiter = waiter;
    }
    if (each.holder == holder && each.waiter == waiter) {
      return &each;
    }
  }
  return nullptr;
}

std::uint32_t init_site_of(init_table& inits, std::uint64_t caller) {
  std::uint64_t at = scrambled(caller);
  for (int tries = 0; tries < 64; ++tries, ++at) {
    init_site& one = inits.sites[at % init_table::site_numbers];
    std::uint64_t present = one.caller.load(std::memory_order_relaxed);
    if (present == 0 && one.caller.compare_exchange_strong(present, caller)) {
      present = caller;
    }
    if (present == caller) {
      return static_cast<std::uint32_t>(&one - inits.sites) + 1;
    }
  }
  return 0;
}

void note_module([[maybe_unused]] profile_buffer& target, [[maybe_unused]] std::uint64_t address) {
#if __GLIBC_PREREQ(2, 35)
  const std::uint32_t used = target.modules_used.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < used; ++i) {
    const loaded_module& one = target.modules[i];
    if (one.start <= address && address < one.end) {
      return;
    }
  }
  dl_find_object found;
  // Takes no lock, unlike dladdr: the caller may hold any mutex.
  if (_dl_find_object(reinterpret_cast<void*>(address), &found) != 0) {
    return;
  }
  const std::uint32_t number = target.modules_taken.fetch_add(1, std::memory_order_relaxed);
  if (number >= profile_buffer::module_numbers) {
    return;
  }
  loaded_module& made = target.modules[number];
  made.base = found.dlfo_link_map->l_addr;
  std::strncpy(made.path, found.dlfo_link_map->l_name, sizeof made.path - 1);
  made.start = reinterpret_cast<std::uint64_t>(found.dlfo_map_start);
  made.end = reinterpret_cast<std::uint64_t>(found.dlfo_map_end);
  // One that another thread is still filling matches no address: the two are in the table twice.
  std::uint32_t seen = used;
  while (seen <= number && !target.modules_used.compare_exchange_weak(seen, number + 1)) {
  }
#endif
}

}  // namespace lockwright::probe
