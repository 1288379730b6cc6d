// shop: a program for recordings. It prices orders for a while, and keeps some of
// what it allocates.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace shop {

static std::vector<char *> kept;

static inline __attribute__((always_inline)) double rate(double x) {
  double y = x;
  for (int i = 0; i < 40; i++) y = y * 1.000001 + 0.5 / (y + 1);
  return y;
}

__attribute__((noinline)) double price(int n) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += rate(i);
  return sum;
}

__attribute__((noinline)) char *copyOrder(size_t n) {
  char *p = static_cast<char *>(malloc(n));
  memset(p, 1, n);
  return p;
}

struct Ledger {
  __attribute__((noinline)) double post(int i) {
    char *p = copyOrder(1000);
    double d = price(2000) + p[3];
    if (i % 4 == 0)
      kept.push_back(copyOrder(3000));
    free(p);
    return d;
  }
};

} // namespace shop

int main(int argc, char **argv) {
  double seconds = argc > 1 ? atof(argv[1]) : 1;
  int most = argc > 2 ? atoi(argv[2]) : 1 << 30;
  shop::Ledger ledger;
  double sum = 0;
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < most; i++) {
    sum += ledger.post(i);
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > seconds) break;
  }
  printf("%f\n", sum);
  return 0;
}
