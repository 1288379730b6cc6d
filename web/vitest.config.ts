import preact from '@preact/preset-vite';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  plugins: [preact()],
  test: { include: ['test/**/*.test.{ts,tsx}'], environment: 'node', testTimeout: 60_000 },
});
