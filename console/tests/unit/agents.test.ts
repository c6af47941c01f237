// The bar of a prompt, values of a definition, and findings.
import { describe, expect, it } from 'vitest';
import type { Diagnostic } from '../../src/api/types';
import { directory, grouped, type Field } from '../../src/pages/agents/definition';
import { excerpt, sorted } from '../../src/pages/agents/diagnostics';
import { parts, stableWidth, totals, type Section } from '../../src/pages/agents/prompt';

const section = (name: string, bytes: number, stable = true): Section => ({ name, title: name, bytes, stable, text: '', origin: null, tokens: Math.ceil(bytes / 4), leftOut: null });

describe('the bar of a prompt', () => {
  it('fills the whole width, in proportion', () => {
    const all = parts([section('a', 750), section('b', 250), section('none', 0)]);
    expect(all.map((part) => [part.number, part.width])).toEqual([[1, 75], [2, 25]]);
  });

  it('keeps small sections visible and still sums up to the whole', () => {
    const all = parts([section('large', 100_000), section('tiny', 3), section('small', 10)]);
    expect(all[1]!.width).toBe(1.5);
    expect(all.reduce((sum, part) => sum + part.width, 0)).toBeCloseTo(100);
    expect(all[1]!.share).toBeLessThan(0.01);
  });

  it('marks as stable only what stands before the first change', () => {
    const sections = [section('a', 500), section('hooks', 250, false), section('b', 250)];
    expect(stableWidth(parts(sections))).toBe(50);
    expect(totals(sections)).toEqual({ all: 1000, stable: 750 });
    expect(stableWidth(parts([section('a', 1)]))).toBe(100);
  });

  it('is empty without a text', () => {
    expect(parts([])).toEqual([]);
    expect(parts([section('none', 0)])).toEqual([]);
  });
});

describe('fields of a definition', () => {
  it('stand in their groups, even if two have the same name', () => {
    const field = (group: string, field: string, value: string): Field => ({ group, field, value, origin: null, saidBy: null });
    const found = grouped([field('tools', 'bash', 'high risk'), field('approval', 'bash', 'allowed'), field('tools', 'glob', 'low risk'), field('own words', 'x', 'y')]);
    expect(found.map(({ title, fields }) => [title, fields.map((one) => one.value)])).toEqual([['Tools', ['high risk', 'low risk']], ['Approval of calls', ['allowed']], ['Own words', ['y']]]);
  });

  it('know the directory of a file', () => {
    expect(directory('.agentry/agents/builder/AGENT.md')).toBe('.agentry/agents/builder/');
    expect(directory('agent.yml')).toBe('');
  });
});

describe('findings', () => {
  const finding = (severity: Diagnostic['severity'], file: string, line: number): Diagnostic => ({ code: 'E', severity, file, line, column: 1, message: '', help: null, rendered: '' });

  it('come with the worst first, then by place', () => {
    const all = sorted([finding('note', 'a', 1), finding('warning', 'b', 9), finding('error', 'z', 3), finding('warning', 'b', 2)]);
    expect(all.map((one) => `${one.severity} ${one.file}:${one.line}`)).toEqual(['error z:3', 'warning b:2', 'warning b:9', 'note a:1']);
  });

  it('show of the excerpt only what is not said beside it', () => {
    const rendered = 'error[E0401]: no tool is called `Bsh`\n --> AGENT.md:3:15\n  |\n3 | tools: [Read, Bsh]\n  |               ^^^\n  |\n  = help: did you mean `Bash`?\n';
    expect(excerpt(rendered)).toBe('3 | tools: [Read, Bsh]\n  |               ^^^');
    expect(excerpt('')).toBe('');
  });
});
