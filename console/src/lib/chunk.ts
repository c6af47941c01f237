// Parts of the console that are fetched when they are needed.
import { ApiError } from '../api/client';

/** Says plainly what a part that did not come means: the server is away, or it has another console by now. */
export async function chunk<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch {
    throw new ApiError(0, 'part', 'a part of the console did not load', 'reload this page; the server may be down or updated');
  }
}
