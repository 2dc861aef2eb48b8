// Memory for arrays that grow.
#pragma once

#include <cstdint>
#include <vector>

namespace mddf {

// Makes room for n times what is there and a little more. What is not used of it, the system does
// not provide.
template <class T>
void make_room(std::vector<T>& values, int64_t n) {
  if (n > 1) values.reserve(values.size() * n + values.size() * n / 16);
}

// Gives back room that is not used if it is much, which takes a copy.
template <class T>
void give_back(std::vector<T>& values) {
  if (values.capacity() > values.size() + values.size() / 8) values.shrink_to_fit();
}

}  // namespace mddf
