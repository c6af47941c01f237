// The screenshot of README.md: `npm run picture`. The tests do not run it.
import { defineConfig } from '@playwright/test';
import tests from '../playwright.config';

export default defineConfig({
  ...tests,
  testDir: '.',
  testMatch: 'console.picture.ts',
  outputDir: `${process.env.CARGO_TARGET_DIR ?? '../../target'}/console-picture`,
  workers: 1,
});
