import preact from '@preact/preset-vite';
import { defineConfig } from 'vite';

// The app that `dendro serve` serves. File names have no hashes, so that commits of dist
// stay small; the server sends an ETag.
export default defineConfig({
  plugins: [preact()],
  build: {
    outDir: 'dist/app',
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: false,
    rollupOptions: {
      output: { entryFileNames: 'assets/[name].js', chunkFileNames: 'assets/[name].js', assetFileNames: 'assets/[name][extname]' },
      input: { app: 'index.html' },
    },
  },
  server: { proxy: { '/api': process.env.DENDRO_SERVER ?? 'http://127.0.0.1:12800' } },
});
