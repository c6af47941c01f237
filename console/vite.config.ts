// Builds the console as a plain single page application; in development /api goes to the fake server.
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

// Named, so that the build keeps its own few lines apart from it: with them in it, it would come with the first page.
const HIGHLIGHTER = { name: 'colours', test: /node_modules\/highlight\.js/ };

export default defineConfig({
  plugins: [svelte()],
  build: { target: 'es2022', cssTarget: ['chrome123', 'firefox120', 'safari17.5'], assetsInlineLimit: 0, cssCodeSplit: true, manifest: true, modulePreload: { polyfill: false }, sourcemap: false, rolldownOptions: { output: { codeSplitting: { groups: [HIGHLIGHTER] } } } },
  server: { port: 5174, strictPort: true, proxy: { '/api': { target: process.env.AGENTRY_API ?? 'http://127.0.0.1:8790' } } },
  resolve: process.env.VITEST ? { conditions: ['browser'] } : undefined,
  test: { include: ['tests/unit/**/*.test.ts'], environment: 'node' },
});
