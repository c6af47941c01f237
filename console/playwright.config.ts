// Tests of the console in a browser, against the real binary and a scripted model.
import { defineConfig } from '@playwright/test';

const FLAGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync',
  // A name of somebody else that leads here, for the test of it.
  '--host-resolver-rules=MAP evil.test 127.0.0.1',
];

export default defineConfig({
  testDir: 'e2e',
  outputDir: `${process.env.CARGO_TARGET_DIR ?? '../target'}/console-tests`,
  fullyParallel: true,
  workers: 2,
  timeout: 60_000,
  expect: { timeout: 15_000 },
  reporter: 'list',
  use: {
    browserName: 'chromium',
    actionTimeout: 15_000,
    screenshot: 'only-on-failure',
    contextOptions: { reducedMotion: 'reduce' },
    launchOptions: { executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS },
  },
});
