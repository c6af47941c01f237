// The fields of a definition by group, in the order in which they come.
import type { AgentDetail } from '../../api/types';

export type Field = AgentDetail['definition'][number];

const TITLES: Record<string, string> = { agent: 'Agent', texts: 'Texts', models: 'Models', tools: 'Tools', approval: 'Approval of calls', access: 'Tool access' };

export function grouped(fields: Field[]): { title: string; fields: Field[] }[] {
  const groups = new Map<string, Field[]>();
  for (const field of fields) groups.set(field.group, [...(groups.get(field.group) ?? []), field]);
  return [...groups].map(([group, fields]) => ({ title: TITLES[group] ?? `${group.slice(0, 1).toUpperCase()}${group.slice(1)}`, fields }));
}

/** The directory of a file, with the slash at its end. */
export function directory(file: string): string {
  return file.slice(0, file.lastIndexOf('/') + 1);
}
