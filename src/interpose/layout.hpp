// The layout of the files that a library shares with the command line: a table of fields beside each
// struct, in which none can be left out. `lockwright-layouts` prints the tables, and Python reads
// the files by what it printed.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace lockwright::interpose {

/// A field of a struct. Its type is the letter and the bytes of a number, as in "u8", "S" for text,
/// or the name of another struct.
struct field {
  std::string_view name;
  std::string_view type;
  std::size_t offset;
  std::size_t count;      ///< more than one: an array
  std::size_t bytes;      ///< of one
  std::size_t alignment;  ///< of the type
  std::uint64_t nested;   ///< the number of the other struct's layout; 0 if it is none
};

template <class T>
struct plain {
  using type = T;
};
template <class T>
struct plain<std::atomic<T>> {
  using type = T;
};

template <class T>
concept described = requires { layout_of(static_cast<const T*>(nullptr)); };

template <class T>
constexpr std::string_view type_name() {
  if constexpr (described<T>) {
    return name_of(static_cast<const T*>(nullptr));
  } else if constexpr (std::is_same_v<T, char>) {
    return "S";
  } else if constexpr (std::is_signed_v<T>) {
    return sizeof(T) == 8 ? "i8" : "i4";
  } else {
    static_assert(std::is_unsigned_v<T>);
    return sizeof(T) == 8 ? "u8" : sizeof(T) == 4 ? "u4" : "u2";
  }
}

/// FNV-1a.
constexpr std::uint64_t hashed(std::uint64_t hash, std::uint64_t value) {
  return (hash ^ value) * 0x100000001b3;
}

/// A number that differs between two layouts, of all fields and of those inside them. Python computes
/// it from the table that it has been given: `Layouts.number` of layouts.py.
template <described T>
constexpr std::uint64_t layout_number() {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const field& each : layout_of(static_cast<const T*>(nullptr))) {
    for (const std::string_view text : {each.name, each.type}) {
      for (const char letter : text) {
        hash = hashed(hash, static_cast<unsigned char>(letter));
      }
    }
    for (const std::uint64_t value : {std::uint64_t{each.offset}, std::uint64_t{each.count},
                                      std::uint64_t{each.bytes}, each.nested}) {
      hash = hashed(hash, value);
    }
  }
  return hashed(hash, sizeof(T));
}

template <class Declared>
constexpr field make_field(std::string_view name, std::size_t offset) {
  using type = typename plain<std::remove_all_extents_t<Declared>>::type;
  std::uint64_t nested = 0;
  if constexpr (described<type>) {
    nested = layout_number<type>();
  }
  return {.name = name,
          .type = type_name<type>(),
          .offset = offset,
          // NOLINTNEXTLINE(bugprone-sizeof-expression): of no array it is one
          .count = sizeof(Declared) / sizeof(type),
          .bytes = sizeof(type),
          .alignment = alignof(std::remove_all_extents_t<Declared>),
          .nested = nested};
}

/// Whether the fields come in order, with no room for another one between them or at the end.
template <described T>
constexpr bool is_complete() {
  const auto aligned = [](std::size_t offset, std::size_t alignment) {
    return (offset + alignment - 1) / alignment * alignment;
  };
  std::size_t end = 0;
  for (const field& each : layout_of(static_cast<const T*>(nullptr))) {
    if (each.offset != aligned(end, each.alignment)) {
      return false;
    }
    end = each.offset + each.count * each.bytes;
  }
  return sizeof(T) == aligned(end, alignof(T));
}

/// How such a file begins. The command line writes the number of the layout that it reads by.
struct layout_stamp {
  char magic[8];
  std::uint64_t number;

  /// Whether a library with this layout may use the file. In one of another layout it leaves its own
  /// number, by which the reader knows.
  bool is(const char (&expected_magic)[8], std::uint64_t expected) {
    if (std::memcmp(magic, expected_magic, sizeof magic) != 0) {
      return false;
    }
    if (number != expected) {
      __atomic_store_n(&number, expected, __ATOMIC_RELAXED);
      return false;
    }
    return true;
  }
};

}  // namespace lockwright::interpose

// LOCKWRIGHT_LAYOUT(type, fields...) describes a struct; in its namespace, behind it.
#define LOCKWRIGHT_LAYOUT(struct_type, ...)                                            \
  constexpr std::string_view name_of(const struct_type*) { return #struct_type; }      \
  constexpr auto layout_of(const struct_type*) {                                       \
    return std::array{LOCKWRIGHT_RESCAN(LOCKWRIGHT_FIELDS(struct_type, __VA_ARGS__))}; \
  }                                                                                    \
  static_assert(::lockwright::interpose::is_complete<struct_type>())

// One for each name. A macro does not expand inside itself, so that each is left for a later scan.
#define LOCKWRIGHT_FIELDS(struct_type, name, ...)                                               \
  ::lockwright::interpose::make_field<decltype(struct_type::name)>(#name,                       \
                                                                   offsetof(struct_type, name)) \
      __VA_OPT__(, LOCKWRIGHT_MORE_FIELDS LOCKWRIGHT_NO_ARGUMENTS(struct_type, __VA_ARGS__))
#define LOCKWRIGHT_MORE_FIELDS() LOCKWRIGHT_FIELDS
#define LOCKWRIGHT_NO_ARGUMENTS ()
#define LOCKWRIGHT_RESCAN(...) \
  LOCKWRIGHT_RESCAN_16(        \
      LOCKWRIGHT_RESCAN_16(LOCKWRIGHT_RESCAN_16(LOCKWRIGHT_RESCAN_16(__VA_ARGS__))))
#define LOCKWRIGHT_RESCAN_16(...) \
  LOCKWRIGHT_RESCAN_4(LOCKWRIGHT_RESCAN_4(LOCKWRIGHT_RESCAN_4(LOCKWRIGHT_RESCAN_4(__VA_ARGS__))))
#define LOCKWRIGHT_RESCAN_4(...) \
  LOCKWRIGHT_SCAN(LOCKWRIGHT_SCAN(LOCKWRIGHT_SCAN(LOCKWRIGHT_SCAN(__VA_ARGS__))))
#define LOCKWRIGHT_SCAN(...) __VA_ARGS__

namespace lockwright::interpose {
LOCKWRIGHT_LAYOUT(layout_stamp, magic, number);
}  // namespace lockwright::interpose
