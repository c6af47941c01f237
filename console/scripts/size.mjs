// Says how much the first page loads, compressed, and fails if it is more than 200 KB.
// The first page is index.html, what it names, and the sessions page; an open session brings some more.
import { readFileSync, statSync } from 'node:fs';

const LIMIT_KB = 200;
const manifest = JSON.parse(readFileSync('dist/.vite/manifest.json', 'utf8'));
const files = new Set(['index.html', 'theme.js', 'favicon.svg']);

function take(key) {
  const chunk = manifest[key];
  if (!chunk || files.has(chunk.file)) return;
  files.add(chunk.file);
  for (const css of chunk.css ?? []) files.add(css);
  for (const next of chunk.imports ?? []) take(next);
}

function sum(name) {
  const size = (ending) => [...files].reduce((bytes, file) => bytes + statSync(`dist/${file}${ending}`).size, 0);
  const [raw, gzip, brotli] = ['', '.gz', '.br'].map(size);
  console.log(`${name.padEnd(26)} ${kb(raw)} raw, ${kb(gzip)} gzip, ${kb(brotli)} brotli, ${files.size} files`);
  return gzip;
}

function kb(bytes) {
  return `${(bytes / 1024).toFixed(1)} KB`;
}

take('index.html');
take('src/pages/sessions/SessionsPage.svelte');
sum('first page');
take('src/pages/sessions/SessionView.svelte');
const most = sum('with an open session');
take('src/lib/highlighter.ts');
sum('and with coloured code');
if (most > LIMIT_KB * 1024) {
  console.error(`the first page is larger than ${LIMIT_KB} KB`);
  process.exit(1);
}
