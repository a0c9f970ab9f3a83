// The layout of the files that a library shares with the command: a table of fields beside each
// struct, checked to be complete. `lockwright-layouts` prints the tables, by which Python reads the
// files.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace lockwright::interpose {

/// A field of a struct. Its type is the letter and the size of a number, as in "u8", "S" for text,
/// or the name of another struct.
struct field {
  std::string_view name;
  std::string_view type;
  std::size_t offset;
  std::size_t count;      ///< more than one: an array
  std::size_t bytes;      ///< of one element
  std::size_t alignment;  ///< of the type
  std::uint64_t nested;   ///< layout number of the other struct; 0 for other types
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

/// Returns `hash` with `value` added, by FNV-1a.
constexpr std::uint64_t hashed(std::uint64_t hash, std::uint64_t value) {
  return (hash ^ value) * 0x100000001b3;
}

/// Returns a hash of all fields, nested ones included, that identifies the layout. Python computes
/// it from the printed table: `Layouts.number` of layouts.py.
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
          // NOLINTNEXTLINE(bugprone-sizeof-expression): 1 if it is not an array
          .count = sizeof(Declared) / sizeof(type),
          .bytes = sizeof(type),
          .alignment = alignof(std::remove_all_extents_t<Declared>),
          .nested = nested};
}

/// Returns true if the fields are in order, with no room for another field between or behind them.
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

/// The beginning of such a file. The command writes the number of its own layout.
struct layout_stamp {
  char magic[8];
  std::uint64_t number;

  /// Returns true if a library with this layout may use the file. Stores the library's number in a
  /// file of another layout, so that the reader can detect it.
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

// LOCKWRIGHT_LAYOUT(type, fields...) describes a struct; to be written behind it, in its namespace.
#define LOCKWRIGHT_LAYOUT(struct_type, ...)                                            \
  constexpr std::string_view name_of(const struct_type*) { return #struct_type; }      \
  constexpr auto layout_of(const struct_type*) {                                       \
    return std::array{LOCKWRIGHT_RESCAN(LOCKWRIGHT_FIELDS(struct_type, __VA_ARGS__))}; \
  }                                                                                    \
  static_assert(::lockwright::interpose::is_complete<struct_type>())

// Expands to one field per name. A macro does not expand inside itself, so the rest is left for a
// later scan.
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
