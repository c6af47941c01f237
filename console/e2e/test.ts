// The tests' own words: `serve` starts a server, `enter` signs the page in. After each test the page must have had no trouble:
// no error, nothing that the policy of its content refused, no request to anybody else, no answer that is a failure.
import { existsSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { test as base, expect, type BrowserContext, type Page } from '@playwright/test';
import { Server, type Setting } from './server';

interface World {
  serve: (setting: Setting) => Promise<Server>;
  enter: (server: Server, page: Page, path?: string) => Promise<void>;
  trouble: Trouble;
}

export class Trouble {
  readonly found: string[] = [];
  readonly requests: string[] = [];
  /** What may happen in this test. */
  readonly expected: RegExp[] = [];

  expect(...patterns: RegExp[]): void {
    this.expected.push(...patterns);
  }

  get unexpected(): string[] {
    return this.found.filter((line) => !this.expected.some((pattern) => pattern.test(line)));
  }

  watch(context: BrowserContext, servers: Server[]): void {
    const isOurs = (url: string) => servers.some((server) => url.startsWith(`${server.url}/`));
    context.on('weberror', (error) => this.found.push(`error: ${error.error().message}`));
    context.on('console', (message) => {
      // The answer itself is told below, with its address.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) this.found.push(`console: ${message.text()}`);
    });
    context.on('request', (request) => {
      this.requests.push(request.url());
      if (!isOurs(request.url())) this.found.push(`request to ${request.url()}`);
    });
    context.on('response', (response) => {
      if (response.status() >= 400) this.found.push(`${response.status()} for ${response.request().method()} ${new URL(response.url()).pathname}`);
    });
  }
}

export const test = base.extend<World>({
  serve: async ({ context, trouble }, use) => {
    const servers: Server[] = [];
    trouble.watch(context, servers);
    await use(async (setting) => {
      const server = new Server(setting);
      servers.push(server);
      await server.start();
      await fresh(context, server);
      return server;
    });
    await Promise.all(servers.map((server) => server.stop()));
  },
  enter: async ({}, use) => {
    await use(async (server, page, path = '/sessions') => {
      const link = new URL(server.link());
      await page.goto(`${server.url}${path}${link.hash}`);
      await expect(page.getByRole('navigation', { name: 'Pages' })).toBeVisible();
    });
  },
  trouble: [
    async ({}, use) => {
      const trouble = new Trouble();
      await use(trouble);
      expect(trouble.unexpected).toEqual([]);
    },
    { auto: true },
  ],
});

export { expect };

/** The newest turn that is shown. */
export const turn = (page: Page) => page.getByRole('article', { name: 'Turn' }).last();

/** That a turn is over and went well. */
export const done = (page: Page) => expect(turn(page).locator('footer').getByText('done', { exact: true })).toBeVisible();

const TYPES: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };

/** With AGENTRY_DIST the pages are taken from there, not from the binary: to see a change without building it. */
async function fresh(context: BrowserContext, server: Server): Promise<void> {
  const dist = process.env.AGENTRY_DIST;
  if (!dist) return;
  const { headers } = await fetch(`${server.url}/`);
  const policy = headers.get('content-security-policy') ?? '';
  await context.route(`${server.url}/**`, async (route) => {
    const { pathname } = new URL(route.request().url());
    if (pathname.startsWith('/api/') || route.request().method() !== 'GET') return route.continue();
    const path = existsSync(join(dist, pathname)) && extname(pathname) ? join(dist, pathname) : join(dist, 'index.html');
    return route.fulfill({ body: readFileSync(path), contentType: TYPES[extname(path)] ?? 'application/octet-stream', headers: { 'content-security-policy': policy } });
  });
}
