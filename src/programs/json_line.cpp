#include "json_line.hpp"

#include <cstdio>

namespace lockwright::programs {

void json_line::key(std::string_view name) {
  text_ += text_.empty() ? "{\"" : ",\"";
  text_ += name;
  text_ += "\":";
}

json_line& json_line::field(std::string_view name, double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  key(name);
  text_ += text;
  return *this;
}

json_line& json_line::field(std::string_view name, std::uint64_t value) {
  key(name);
  text_ += std::to_string(value);
  return *this;
}

json_line& json_line::field(std::string_view name, std::int64_t value) {
  key(name);
  text_ += std::to_string(value);
  return *this;
}

json_line& json_line::field(std::string_view name, std::string_view value) {
  key(name);
  text_ += '"';
  for (const char c : value) {
    if (c == '"' || c == '\\') {
      text_ += '\\';
    }
    text_ += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  }
  text_ += '"';
  return *this;
}

json_line& json_line::field(std::string_view name, const std::vector<std::uint64_t>& values) {
  key(name);
  text_ += '[';
  for (std::size_t i = 0; i < values.size(); ++i) {
    text_ += (i == 0 ? "" : ",") + std::to_string(values[i]);
  }
  text_ += ']';
  return *this;
}

void json_line::print() {
  text_ += "}\n";
  std::fputs(text_.c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace lockwright::programs
