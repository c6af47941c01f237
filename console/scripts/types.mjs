// Makes src/api/schema.d.ts of openapi.json, which `agentry schema api` wrote. With --check it only says whether the file is what it should be.
import { readFileSync, writeFileSync } from 'node:fs';
import openapiTS, { astToString } from 'openapi-typescript';

const SOURCE = new URL('../openapi.json', import.meta.url);
const MADE = new URL('../src/api/schema.d.ts', import.meta.url);
const HEAD = '// Made of openapi.json by `npm run types`. Not for editing.\n\n';

const made = HEAD + astToString(await openapiTS(SOURCE, { alphabetize: true }));
if (!process.argv.includes('--check')) writeFileSync(MADE, made);
else if (readFileSync(MADE, 'utf8') !== made) {
  console.error('src/api/schema.d.ts is not what openapi.json gives: run `npm run types`');
  process.exit(1);
}
