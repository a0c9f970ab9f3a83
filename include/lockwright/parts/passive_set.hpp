// The passive waiters of a concurrency-restricting lock.
#pragma once

namespace lockwright {

/// The links of a member of a passive_set: a base of the queue node.
template <class Env, class Node>
struct passive_member {
  typename Env::template plain<Node*> older{};
  typename Env::template plain<Node*> younger{};

 private:
  friend Node;
  passive_member() = default;
};

/// Queue nodes in the order of their insertion. A value of one pointer, which the holder has and
/// passes on with the lock.
///
/// Invariant RING: the members form a ring; the youngest one's `younger` is the oldest one.
/// Invariant HOLDER-ONLY: only the lock's holder follows or changes the links.
template <class Node>
class passive_set {
 public:
  constexpr passive_set() = default;
  constexpr explicit passive_set(Node* youngest) : youngest_(youngest) {}

  [[nodiscard]] bool empty() const { return youngest_ == nullptr; }
  [[nodiscard]] Node* youngest() const { return youngest_; }
  [[nodiscard]] Node* oldest() const { return youngest_->younger; }

  /// Inserts it as the youngest.
  void put(Node* node) {
    put_oldest(node);
    youngest_ = node;
  }

  /// Inserts it as the oldest.
  void put_oldest(Node* node) {
    if (empty()) {
      node->older = node;
      node->younger = node;
      youngest_ = node;
      return;
    }
    Node* before = oldest();
    node->older = youngest_;
    node->younger = before;
    before->older = node;
    youngest_->younger = node;
  }

  void take(Node* member) {
    Node* older = member->older;
    if (older == member) {
      youngest_ = nullptr;
      return;
    }
    Node* younger = member->younger;
    older->younger = younger;
    younger->older = older;
    if (youngest_ == member) {
      youngest_ = older;
    }
  }

 private:
  Node* youngest_ = nullptr;
};

}  // namespace lockwright
