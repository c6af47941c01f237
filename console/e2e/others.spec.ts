// Pages of somebody else, in the browser of somebody who is signed in: whatever they try, nothing happens.
import { createServer, type Server as Site } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from './test';
import type { Server } from './server';

/** A page of somebody else, on another site: the console is at 127.0.0.1, this one at localhost. */
async function elsewhere(body: string): Promise<{ url: string; site: Site }> {
  const site = createServer((_, answer) => answer.writeHead(200, { 'content-type': 'text/html' }).end(`<!doctype html><title>elsewhere</title>${body}`));
  await new Promise<void>((ready) => site.listen(0, '127.0.0.1', ready));
  return { url: `http://localhost:${(site.address() as AddressInfo).port}/`, site };
}

const sessions = async (server: Server) => (await server.api<{ sessions: unknown[] }>('/api/sessions')).sessions.length;

test('a page of somebody else cannot say, read, listen, frame or draw anything', async ({ page, context, serve, enter, trouble }) => {
  trouble.expect(/localhost/, /^console: /, /^40[13] for /);
  const server = await serve({ script: [{ text: 'Hello.' }] });
  await enter(server, page);
  const { url, site } = await elsewhere(`
    <form id=form method=post enctype=text/plain target=sink action="${server.url}/api/sessions"><input name='{"text":"forged","agent":"helper","x":"' value='"}'></form>
    <iframe name=sink></iframe>`);
  const other = await context.newPage();
  await other.goto(url);
  const tried = await other.evaluate(async (base) => {
    const settled = (work: Promise<unknown>) => work.then(() => 'reached', () => 'refused');
    const body = JSON.stringify({ text: 'forged', agent: 'helper' });
    const post = (init: RequestInit) => settled(fetch(`${base}/api/sessions`, { method: 'POST', credentials: 'include', body, ...init }));
    const element = (make: (done: (word: string) => void) => void) => new Promise<string>(make);
    const sink = document.querySelector('iframe')!;
    const form = element((done) => {
      sink.onload = () => done('sent');
      document.querySelector('form')!.submit();
    });
    return {
      form: await form,
      text: await post({ headers: { 'content-type': 'text/plain' } }),
      json: await post({ headers: { 'content-type': 'application/json', 'x-agentry': '1' } }),
      blind: await post({ mode: 'no-cors', headers: { 'content-type': 'text/plain' } }),
      read: await settled(fetch(`${base}/api/sessions`, { credentials: 'include' })),
      stream: await element((done) => {
        const source = new EventSource(`${base}/api/stream?after=0`, { withCredentials: true });
        source.onerror = () => (source.close(), done('refused'));
        source.addEventListener('hello', () => (source.close(), done('reached')));
      }),
      image: await element((done) => {
        const image = new Image();
        image.onload = () => done('reached');
        image.onerror = () => done('refused');
        image.src = `${base}/api/sessions`;
      }),
      script: await element((done) => {
        const script = document.createElement('script');
        script.onload = () => done('reached');
        script.onerror = () => done('refused');
        script.src = `${base}/api/sessions`;
        document.head.append(script);
      }),
    };
  }, server.url);
  // Without permission to look, a browser says that it was sent; what counts is what came of it.
  expect(tried).toMatchObject({ text: 'refused', json: 'refused', read: 'refused', stream: 'refused', image: 'refused', script: 'refused' });
  expect(await sessions(server)).toBe(0);

  // In a frame there is no console to press buttons in.
  await other.evaluate((base) => {
    const frame = document.createElement('iframe');
    frame.name = 'console';
    frame.src = `${base}/sessions`;
    document.body.append(frame);
  }, server.url);
  await expect.poll(() => other.frames().some((frame) => frame.name() === 'console' && frame.url() !== 'about:blank' && frame.url() !== '')).toBe(true);
  const frame = other.frame('console')!;
  expect(await frame.evaluate(() => document.body?.innerText ?? '').catch(() => '')).not.toContain('Sessions');
  expect(await sessions(server)).toBe(0);

  // Whoever is signed in still is.
  await page.reload();
  await expect(page.getByRole('heading', { name: 'Sessions' })).toBeVisible();
  site.close();
});

test('a page at another port of the same name is somebody else, too', async ({ page, context, serve, enter, trouble }) => {
  trouble.expect(/^request to http:\/\/127/, /^console: /, /^40[13] for /);
  const server = await serve({ script: [{ text: 'Hello.' }] });
  await enter(server, page);
  const { url, site } = await elsewhere('');
  const other = await context.newPage();
  await other.goto(url.replace('localhost', '127.0.0.1'));
  const tried = await other.evaluate(async (base) => {
    const body = JSON.stringify({ text: 'forged', agent: 'helper' });
    const post = (init: RequestInit) => fetch(`${base}/api/sessions`, { method: 'POST', credentials: 'include', body, ...init }).then((answer) => answer.type, () => 'refused');
    return [await post({ headers: { 'content-type': 'text/plain' } }), await post({ headers: { 'content-type': 'application/json', 'x-agentry': '1' } }), await post({ mode: 'no-cors' })];
  }, server.url);
  expect(tried).toEqual(['refused', 'refused', 'refused']);
  expect(await sessions(server)).toBe(0);
  site.close();
});

test('a name of somebody else that leads here is not answered', async ({ page, serve, trouble }) => {
  trouble.expect(/evil\.test/, /^console: /, /^421 for /);
  const server = await serve({ script: [] });
  const { port } = new URL(server.url);
  const answer = await page.goto(`http://evil.test:${port}/`);
  expect(answer!.status()).toBe(421);
  const tried = await page.evaluate(async () => (await fetch('/api/me')).status);
  expect(tried).toBe(421);
});

test('the console allows itself little', async ({ page, serve }) => {
  const server = await serve({ script: [] });
  const { headers } = await fetch(`${server.url}/`);
  const policy = headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toMatch(/unsafe-(inline|eval)|\*|https?:/);
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('referrer-policy')).toBe('no-referrer');
  await page.goto('about:blank');
});
