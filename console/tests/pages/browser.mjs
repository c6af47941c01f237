// A browser and a fake server for the page tests.
import { spawn } from 'node:child_process';
import { chromium } from 'playwright-core';

const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** Starts a fake server and says where it is. */
export async function serve(port, flags = []) {
  const child = spawn(process.execPath, ['fake/server.mjs', '--port', String(port), ...flags], { stdio: ['ignore', 'pipe', 'inherit'] });
  await new Promise((done) => child.stdout.once('data', done));
  return { url: `http://127.0.0.1:${port}`, stop: () => child.kill() };
}

export function browser() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });
}

/** A page that collects what must not happen: errors, breaches of the policy, requests to others. */
export async function open(with_, base, options = {}) {
  const { width = 1280, height = 820, dark = false } = options;
  const context = await with_.newContext({ viewport: { width, height }, colorScheme: dark ? 'dark' : 'light', reducedMotion: 'reduce' });
  const page = await context.newPage();
  const trouble = [];
  page.on('pageerror', (error) => trouble.push(`error: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error' && !/401|404|409|503|ERR_FAILED/.test(message.text())) trouble.push(`console: ${message.text()}`);
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(base) && !request.url().startsWith('data:')) trouble.push(`request to ${request.url()}`);
  });
  return { page, context, trouble };
}
