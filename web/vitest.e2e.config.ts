import { defineConfig } from 'vitest/config';

// The pages in a browser, served by the real binary: `make web-e2e`.
export default defineConfig({
  test: { include: ['e2e/**/*.test.ts'], environment: 'node', testTimeout: 60_000, hookTimeout: 120_000, fileParallelism: false },
});
