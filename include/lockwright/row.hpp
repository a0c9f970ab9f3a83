// A row of registry.def in C++: `mcs_spin_lock<native>` is the algorithm over an environment,
// `mcs_spin_row` the contents of the row. The environment passes the algorithm's name on to its
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
