// Differences as rows: of two texts, of a unified diff, and what an edit changes.
import { parsePatch, structuredPatch, type StructuredPatch } from 'diff';

export interface Line {
  number: number;
  text: string;
}

export type Row =
  | { kind: 'gap'; text: string }
  | { kind: 'same'; old: Line; new: Line }
  | { kind: 'change'; old: Line | null; new: Line | null };

export interface FileDiff {
  oldName: string;
  newName: string;
  added: number;
  removed: number;
  rows: Row[];
}

/** A unified diff; null if it is none. */
export function parseDiff(unified: string): FileDiff[] | null {
  try {
    const patches = parsePatch(unified).filter((patch) => patch.hunks.length > 0);
    return patches.length > 0 ? patches.map((patch) => rows(patch)) : null;
  } catch {
    return null;
  }
}

export function compare(name: string, before: string, after: string): FileDiff {
  return rows(structuredPatch(name, name, before, after, undefined, undefined, { context: 3 }), false);
}

/** What a call of a tool that changes files would change, as far as its arguments say. */
export function editOf(tool: string, input: unknown): FileDiff | null {
  if (input === null || typeof input !== 'object') return null;
  const fields = input as Record<string, unknown>;
  const path = typeof fields.path === 'string' ? fields.path : typeof fields.file_path === 'string' ? fields.file_path : '';
  if (tool === 'edit_file' && typeof fields.old_string === 'string' && typeof fields.new_string === 'string') {
    return compare(path, fields.old_string, fields.new_string);
  }
  if (tool === 'write_file' && typeof fields.content === 'string') return compare(path, '', fields.content);
  return null;
}

function rows(patch: StructuredPatch, places = true): FileDiff {
  const file: FileDiff = { oldName: name(patch.oldFileName), newName: name(patch.newFileName), added: 0, removed: 0, rows: [] };
  for (const hunk of patch.hunks) {
    if (places || patch.hunks.length > 1) {
      file.rows.push({ kind: 'gap', text: `@@ -${hunk.oldStart},${hunk.oldLines} +${hunk.newStart},${hunk.newLines} @@` });
    }
    let oldAt = hunk.oldStart;
    let newAt = hunk.newStart;
    let removed: Line[] = [];
    let added: Line[] = [];
    const flush = () => {
      for (let index = 0; index < Math.max(removed.length, added.length); index += 1) {
        file.rows.push({ kind: 'change', old: removed[index] ?? null, new: added[index] ?? null });
      }
      removed = [];
      added = [];
    };
    for (const line of hunk.lines) {
      const text = line.slice(1);
      if (line.startsWith('-')) {
        removed.push({ number: oldAt++, text });
        file.removed += 1;
      } else if (line.startsWith('+')) {
        added.push({ number: newAt++, text });
        file.added += 1;
      } else if (line.startsWith(' ')) {
        flush();
        file.rows.push({ kind: 'same', old: { number: oldAt++, text }, new: { number: newAt++, text } });
      }
    }
    flush();
  }
  return file;
}

function name(path: string | undefined): string {
  return (path ?? '').replace(/^[ab]\//, '').replace(/\t.*$/, '');
}
