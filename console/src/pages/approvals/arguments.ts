// Arguments of a call, as a person writes them.

/** The object that a text says in JSON, or nothing: a call has its arguments by name. */
export function argumentsOf(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
