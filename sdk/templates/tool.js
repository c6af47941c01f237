#!/usr/bin/env node
// The tool {{name}}. Input and output are JSON, in the files that these variables name.
// Exit code 0 means that the answer is written; any other is a failure, with the reason on stderr.
const fs = require('node:fs');

// The answer for the model: any JSON value.
function answer({ text }) {
  if (text === undefined) throw new Error('the argument `text` is missing');
  return { greeting: `Hello, ${text}!` };
}

const source = process.env.AGENTRY_TOOL_INPUT || process.env.CYBROS_TOOL_INPUT || 0; // 0 is stdin, 1 is stdout
const target = process.env.AGENTRY_TOOL_OUTPUT || process.env.CYBROS_TOOL_OUTPUT || 1;

try {
  const call = JSON.parse(fs.readFileSync(source, 'utf8'));
  fs.writeFileSync(target, JSON.stringify(answer(call.arguments)));
} catch (error) {
  console.error(`{{name}}: ${error.message}`);
  process.exitCode = 1;
}
