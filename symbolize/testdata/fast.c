/* Functions inlined two deep, a static one of the same name as another file's. */
static inline __attribute__((always_inline)) int twice(int x) { return x * 2 + 1; }

static inline __attribute__((always_inline)) int weigh(int x, int y) {
  int z = twice(x);
  for (int i = 0; i < y; i++)
    z ^= twice(z);
  return z;
}

__attribute__((noinline)) int shipping(int x) {
  if (x > 3)
    return weigh(x, x);
  return twice(x);
}
