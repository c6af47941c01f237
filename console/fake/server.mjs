// A server for development and tests that speaks the contract of the API with made-up data. It keeps nothing and guards nothing.
//
//   node fake/server.mjs [--port 8790] [--fast] [--signed-out] [--insecure] [--unsandboxed] [--empty] [--well] [--soft] [--still]
//
// It serves dist with the headers of the real server. Files in fake/pages add routes: [method, pattern, handler].
import { createReadStream, existsSync, readdirSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setSpeed, turn } from './play.mjs';
import { append, entries, lastSeq, listen } from './world.mjs';
import { me } from './pages/core.mjs';
import { Failure, fail, fits } from './wire.mjs';

const flags = process.argv.slice(2);
const port = Number(flags[flags.indexOf('--port') + 1] || 8790) || 8790;
const dist = fileURLToPath(new URL('../dist', import.meta.url));
const CSP = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types agentry dompurify svelte-trusted-html";
const TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.json': 'application/json' };
const routes = [];
for (const file of readdirSync(new URL('./pages', import.meta.url)).filter((name) => name.endsWith('.mjs')).sort()) {
  routes.push(...(await import(`./pages/${file}`)).default);
}

let signedIn = !flags.includes('--signed-out');
if (flags.includes('--insecure')) me.insecure = true;
if (flags.includes('--unsandboxed')) me.server.sandbox = 'off';
if (flags.includes('--empty')) entries.length = 0;
if (flags.includes('--fast')) setSpeed(0.1);

async function api(request, url) {
  const body = await new Promise((done, failed) => {
    let text = '';
    request.on('data', (chunk) => (text += chunk));
    request.on('end', () => done(text ? JSON.parse(text) : {}));
    request.on('error', failed);
  });
  if (request.method !== 'GET' && request.headers['x-agentry'] !== '1') fail(403, 'csrf', 'the header X-Agentry is missing');
  if (!signedIn && url.pathname !== '/api/login') fail(401, 'unauthenticated', 'nobody is signed in', 'run `agentry console`');
  for (const [method, pattern, handler] of routes) {
    const params = method === request.method ? fits(pattern, url.pathname) : null;
    if (!params) continue;
    const answer = await handler({ params, query: url.searchParams, body });
    if (url.pathname === '/api/login') signedIn = true;
    if (url.pathname === '/api/logout') signedIn = false;
    return answer;
  }
  return fail(404, 'not_found', `there is no ${request.method} ${url.pathname}`);
}

function stream(request, response, url) {
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
  const send = (event, data, id) => response.write(`${id ? `id: ${id}\n` : ''}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  const after = request.headers['last-event-id'] ?? url.searchParams.get('after');
  if (after !== null && after !== undefined) for (const entry of entries.filter((one) => one.seq > Number(after))) send('entry', entry, entry.seq);
  send('hello', { seq: lastSeq() });
  const off = listen((kind, data) => send(kind, data, kind === 'entry' ? data.seq : undefined));
  request.on('close', off);
}

function file(response, path) {
  const wanted = join(dist, path);
  const found = wanted.startsWith(dist) && existsSync(wanted) && statSync(wanted).isFile() ? wanted : join(dist, 'index.html');
  response.writeHead(200, {
    'Content-Type': TYPES[extname(found)] ?? 'application/octet-stream', 'Content-Security-Policy': CSP, 'X-Content-Type-Options': 'nosniff', 'Referrer-Policy': 'no-referrer', 'Cache-Control': 'no-store',
  });
  createReadStream(found).pipe(response);
}

const server = createServer(async (request, response) => {
  const url = new URL(request.url, 'http://fake');
  if (!url.pathname.startsWith('/api/')) return file(response, url.pathname);
  try {
    if (url.pathname === '/api/stream' && signedIn) return stream(request, response, url);
    const { status = 200, body, headers = {} } = await api(request, url);
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers });
    response.end(body === undefined ? '' : JSON.stringify(body));
  } catch (error) {
    const known = error instanceof Failure;
    if (!known) console.error(error);
    response.writeHead(known ? error.status : 500, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ error: { code: error.code ?? 'internal', message: error.message, hint: error.hint ?? null } }));
  }
});
server.listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${port}/`));

if (!flags.includes('--empty') && !flags.includes('--still')) {
  const sessionId = 'ses_docs0000000000000000001';
  append({ sessionId }, { type: 'session_opened', key: 'docs', agent: 'builder' });
  setTimeout(() => void turn({ sessionId, agent: 'builder', text: 'Explain the cart to somebody new', slow: 8 }), 300);
}
