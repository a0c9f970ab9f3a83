// Declared topologies and the kernel's.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "lockwright/env/native.hpp"

namespace {

using lockwright::native_env::topology;

std::unique_ptr<topology> declared(const char* text) {
  auto map = std::make_unique<topology>();
  EXPECT_TRUE(map->declare(text)) << text;
  return map;
}

TEST(Topology, lists_of_cpus) {
  auto map = declared("0-7,16-23;8-15,24-31");
  EXPECT_EQ(map->nodes(), 2u);
  for (std::uint32_t cpu = 0; cpu < 32; ++cpu) {
    EXPECT_EQ(map->node_of(cpu), cpu / 8 % 2) << cpu;
  }
}

TEST(Topology, one_cpu_each) {
  auto map = declared("3;1;0");
  EXPECT_EQ(map->nodes(), 3u);
  EXPECT_EQ(map->node_of(3), 0u);
  EXPECT_EQ(map->node_of(1), 1u);
  EXPECT_EQ(map->node_of(0), 2u);
}

TEST(Topology, unnamed_cpus_are_on_the_first_node) {
  auto map = declared("0;1");
  EXPECT_EQ(map->node_of(2), 0u);
  EXPECT_EQ(map->node_of(topology::max_cpus - 1), 0u);
  EXPECT_EQ(map->node_of(topology::max_cpus), 0u);
  EXPECT_EQ(map->node_of(~0u), 0u);
}

TEST(Topology, caches_and_packages) {
  auto map = declared("0,1|2,3;4,5|6,7/8,9|10,11;12-15");
  EXPECT_EQ(map->groups(0), 7u);
  EXPECT_EQ(map->groups(1), 4u);
  EXPECT_EQ(map->groups(2), 2u);
  EXPECT_EQ(map->nodes(), 4u);
  for (std::uint32_t cpu = 0; cpu < 16; ++cpu) {
    const std::uint32_t cache = cpu < 12 ? cpu / 2 : 6;
    EXPECT_EQ(map->group_of(cpu), cache) << cpu;
    EXPECT_EQ(map->group_above(0, cache), cpu / 4) << cpu;
    EXPECT_EQ(map->node_of(cpu), cpu / 4) << cpu;
    EXPECT_EQ(map->group_above(1, cpu / 4), cpu / 8) << cpu;
  }
}

TEST(Topology, a_node_is_one_cache_and_all_are_one_package_unless_declared) {
  auto map = declared("0;1;2");
  EXPECT_EQ(map->groups(0), 3u);
  EXPECT_EQ(map->groups(2), 1u);
  EXPECT_EQ(map->group_of(2), 2u);
  EXPECT_EQ(map->group_above(0, 2), 2u);
  EXPECT_EQ(map->group_above(1, 2), 0u);
  EXPECT_EQ(map->group_of(7), 0u);
}

TEST(Topology, a_declaration_replaces_the_previous_one) {
  auto map = declared("0;1;2");
  EXPECT_TRUE(map->declare("0-2"));
  EXPECT_EQ(map->nodes(), 1u);
  EXPECT_EQ(map->node_of(2), 0u);
}

TEST(Topology, at_most_max_nodes) {
  std::string text = "0";
  for (std::uint32_t i = 1; i < topology::max_nodes; ++i) {
    text += ";" + std::to_string(i);
  }
  EXPECT_EQ(declared(text.c_str())->nodes(), topology::max_nodes);
  topology map;
  EXPECT_FALSE(map.declare((text + ";100").c_str()));
}

TEST(Topology, threads_instead_of_cpus) {
  auto map = declared("threads:0;1,2|3");
  EXPECT_EQ(map->nodes(), 2u);
  EXPECT_EQ(map->threads(), 4u);
  EXPECT_EQ(map->node_of(2), 1u);
  EXPECT_EQ(map->group_of(3), 2u);
  EXPECT_TRUE(map->declare("0;1"));
  EXPECT_EQ(map->threads(), 0u);
}

TEST(Topology, threads_take_nodes_in_turn) {
  ASSERT_TRUE(lockwright::native_env::machine.declare("threads:0;1;2"));
  std::set<std::uint32_t> nodes;
  for (int i = 0; i < 3; ++i) {
    std::thread{[&] {
      const std::uint32_t node = lockwright::native::node();
      EXPECT_LT(node, 3u);
      EXPECT_EQ(lockwright::native::node(), node);
      nodes.insert(node);
    }}.join();
  }
  EXPECT_EQ(nodes.size(), 3u);
}

TEST(Topology, malformed_text_changes_nothing) {
  for (const char* text : {"",           ";",        "0;",
                           ";0",         "0;;1",     "a",
                           "0,",         ",0",       "0,,1",
                           "0-",         "-1",       "3-1",
                           "0 ;1",       "0; 1",     "0-1-2",
                           "8192",       "threads:", "threads",
                           "threads:0;", "thread:0", "|",
                           "0|",         "/0",       "0//1",
                           "0|;1",       "0/ 1",     "99999999999999999999",
                           "0;1x",       "0\n"}) {
    auto map = declared("0;1");
    EXPECT_FALSE(map->declare(text)) << '"' << text << '"';
    EXPECT_EQ(map->nodes(), 2u);
    EXPECT_EQ(map->node_of(1), 1u);
  }
}

TEST(Topology, from_the_environment) {
  ASSERT_EQ(setenv("LOCKWRIGHT_TOPOLOGY", "1;0", 1), 0);
  topology map;
  EXPECT_EQ(map.nodes(), 2u);
  EXPECT_EQ(map.node_of(0), 1u);
}

TEST(Topology, an_invalid_variable_is_reported_in_one_line) {
  ASSERT_EQ(setenv("LOCKWRIGHT_TOPOLOGY", "zero", 1), 0);
  topology map;
  testing::internal::CaptureStderr();
  EXPECT_GE(map.nodes(), 1u);
  const std::string message = testing::internal::GetCapturedStderr();
  EXPECT_EQ(message.rfind("lockwright: LOCKWRIGHT_TOPOLOGY='zero' ", 0), 0u) << message;
  EXPECT_EQ(message.find('\n'), message.size() - 1) << message;
}

TEST(Topology, from_the_kernel) {
  ASSERT_EQ(unsetenv("LOCKWRIGHT_TOPOLOGY"), 0);
  topology map;
  EXPECT_GE(map.nodes(), 1u);
  for (std::uint32_t cpu = 0; cpu < topology::max_cpus; ++cpu) {
    ASSERT_LT(map.node_of(cpu), map.nodes());
    ASSERT_LT(map.group_of(cpu), map.groups(0));
    ASSERT_EQ(map.group_above(0, map.group_of(cpu)), map.node_of(cpu));
    ASSERT_LT(map.group_above(1, map.node_of(cpu)), map.groups(2));
  }
}

TEST(Topology, the_current_cpu) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &before)) {
      cpu_set_t single;
      CPU_ZERO(&single);
      CPU_SET(cpu, &single);
      ASSERT_EQ(sched_setaffinity(0, sizeof single, &single), 0);
      EXPECT_EQ(lockwright::native::cpu(), cpu);
    }
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

}  // namespace
