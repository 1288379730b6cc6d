import preact from '@preact/preset-vite';
import { defineConfig } from 'vite';
import { viteSingleFile } from 'vite-plugin-singlefile';

// The offline report: one file with all code, into which Go writes the data.
export default defineConfig({
  plugins: [preact(), viteSingleFile({ removeViteModuleLoader: true })],
  publicDir: false,
  define: { 'import.meta.env.VITE_REPORT': 'true' },
  build: { outDir: 'dist/report', emptyOutDir: true, target: 'es2022', rollupOptions: { input: 'report.html' } },
});
