import { defineConfig } from 'vitest/config';

// The pages in a browser, served by the real binary: `make web-e2e`. Two workers, as many as a small machine
// has processors, take the files in turns; the files of a worker share its modules, and with them a browser.
export default defineConfig({
  test: { include: ['e2e/**/*.test.ts'], environment: 'node', testTimeout: 120_000, hookTimeout: 120_000, isolate: false, maxWorkers: process.env.DENDRO_BENCH ? 1 : 2 },
});
