// Long lists, fetched in pages that are no larger than the server gives.

/** The most rows that one request may ask for. */
const PAGE_MAX = 200;

export interface Rows<Row> {
  rows: Row[];
  /** Where older ones begin; null if there are none. */
  next: string | null;
}

/** The first so many rows. One that moved between two requests is there once. */
export async function firstRows<Row extends { id: string }>(count: number, page: (limit: number, before: string | undefined) => Promise<Rows<Row>>): Promise<Rows<Row>> {
  const found = new Map<string, Row>();
  let next: string | null = null;
  do {
    const got = await page(Math.min(PAGE_MAX, count - found.size), next ?? undefined);
    for (const row of got.rows) if (!found.has(row.id)) found.set(row.id, row);
    next = got.next;
  } while (next !== null && found.size < count);
  return { rows: [...found.values()], next };
}
