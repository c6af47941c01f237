// Texts from models and tools as they are: nothing hidden, nothing that acts.

const ANSI = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[PX^_][^\u001b]*(?:\u001b\\)?|[ -/]*[0-~])/g;
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]/gu;

/** Every character that would not be seen, written as an escape. For what a person decides about. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`);
}

export function hasHidden(text: string): boolean {
  return text.search(HIDDEN) >= 0;
}

// What makes one picture of several characters, where it does so: the selector after a pictograph, the joiner between two.
const OF_PICTURES = /(?<=\p{Extended_Pictographic}|[0-9#*])\ufe0f|(?<=\p{Extended_Pictographic}\ufe0f?|\p{Emoji_Modifier})\u200d(?=\p{Extended_Pictographic})/u;
const ANY = new RegExp(`(${OF_PICTURES.source})|${HIDDEN.source}`, 'gu');

/** What a program or a person said: colours and cursor moves left out, other control characters made visible, pictures as they are. */
export function plain(text: string): string {
  return text.replace(ANSI, '').replaceAll('\r\n', '\n').replace(ANY, (char, picture?: string) => picture ?? visible(char));
}

/** The first line, shortened. */
export function firstLine(text: string, max = 160): string {
  const line = text.trimStart().split('\n', 1)[0] ?? '';
  return line.length > max ? `${line.slice(0, max - 1)}…` : line;
}

/** The argument that says most about a call, for its one line. */
export function mainArgument(tool: string, input: unknown): string {
  if (input === null || typeof input !== 'object') return input === undefined ? '' : String(input);
  const fields = input as Record<string, unknown>;
  const order = tool === 'grep' ? ['pattern', 'path'] : ['command', 'path', 'file_path', 'pattern', 'url', 'query', 'name', 'id'];
  const found = order.map((name) => fields[name]).find((value) => typeof value === 'string' && value !== '');
  if (typeof found === 'string') return visible(found).replaceAll('\n', ' ');
  const text = Object.values(fields).find((value) => typeof value === 'string');
  return typeof text === 'string' ? visible(firstLine(text)) : Object.keys(fields).length === 0 ? '' : JSON.stringify(input);
}
