// The main function of programs that consist of cases.
#include "check.hpp"

int main(int argc, char** argv) { return check::run(argc, argv); }
