import { describe, expect, it } from 'vitest';
import { argumentsOf } from '../../src/pages/approvals/arguments';

describe('arguments that a person writes', () => {
  it('are an object, or nothing', () => {
    expect(argumentsOf('{"path": "a"}')).toEqual({ path: 'a' });
    for (const text of ['', '{', '[1]', 'null', '"a"', '7']) expect(argumentsOf(text)).toBeNull();
  });
});
