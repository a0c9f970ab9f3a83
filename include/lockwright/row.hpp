// What a row of registry.def is in C++: `mcs_spin_lock<native>` and so on, the
// algorithm over an environment, and `mcs_spin_row`, what the row says. The
// environment that an algorithm gets knows the algorithm's name, for its
// tunables. The build writes one header per row, lockwright/row/<identifier>.hpp.
#pragma once

#include <cstdint>

#include "lockwright/tunable.hpp"

#define LOCKWRIGHT_ROW(lock_name, identifier, lock_header, ...) \
  struct identifier##_row {                                     \
    static constexpr char name[] = lock_name;                   \
    static constexpr char header[] = lock_header;               \
    template <class Machine>                                    \
    struct environment : Machine {                              \
      template <const ::lockwright::tunable& What>              \
      static std::uint64_t value() {                            \
        return Machine::template setting<What, name>();         \
      }                                                         \
    };                                                          \
    template <class Env>                                        \
    using over = __VA_ARGS__;                                   \
    template <class Machine>                                    \
    using lock = over<environment<Machine>>;                    \
  };                                                            \
  template <class Machine>                                      \
  using identifier##_lock = typename identifier##_row::template lock<Machine>;
