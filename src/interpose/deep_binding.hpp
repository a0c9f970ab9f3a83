// Libraries that are opened with RTLD_DEEPBIND use the functions of this library, too.
#pragma once

namespace lockwright::interpose {

/// The functions of this library replace the C library's objects, which no other function may use
/// then. Otherwise they only observe.
extern const bool replaces_objects;

}  // namespace lockwright::interpose
