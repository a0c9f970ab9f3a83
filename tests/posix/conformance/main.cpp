// Prints the observable results of each call, one line a probe: "name: result". The test compares
// the output under a lock with the output under the C library.
#include "../../support/check.hpp"

int main(int argc, char** argv) {
  for (const check::Case& part : check::cases())
    if (check::is_wanted(part.name, argc, argv)) part.body();
}
