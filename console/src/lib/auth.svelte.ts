// Who we are to the server. A link with #code=… signs in; any 401 brings back the sign-in page.
import { api } from '../api';
import { ApiError, asApiError, whenUnauthenticated } from '../api/client';
import type { Me, Scope } from '../api/types';
import { drafts } from './drafts';

class Auth {
  me = $state.raw<Me | null>(null);
  state = $state<'starting' | 'in' | 'out' | 'unreachable'>('starting');
  error = $state.raw<ApiError | null>(null);

  async start(): Promise<void> {
    whenUnauthenticated(() => this.#leave());
    // A link that is pasted where the console is open already changes only the end of the address.
    window.addEventListener('hashchange', () => {
      const code = takeCode();
      if (code) void this.signIn(code);
    });
    const code = takeCode();
    if (code) await this.signIn(code);
    else await this.look();
  }

  async look(): Promise<void> {
    try {
      this.me = await api.me();
      this.error = null;
      this.state = 'in';
    } catch (thrown) {
      const error = asApiError(thrown);
      if (error.status === 401) this.#leave();
      else if (this.state !== 'in') {
        // Who is in stays where they are; the stream says that it reconnects.
        this.error = error;
        this.state = 'unreachable';
      }
    }
  }

  /** With a code that is not taken, who is signed in already stays so. */
  async signIn(code: string): Promise<void> {
    this.error = null;
    try {
      this.me = await api.login(code);
      this.state = 'in';
    } catch (thrown) {
      const refused = asApiError(thrown);
      await this.look();
      if (this.state === 'out') this.error = refused;
    }
  }

  async signOut(): Promise<void> {
    await api.logout();
    drafts.clear();
    this.#leave();
  }

  #leave(): void {
    this.me = null;
    this.error = null;
    this.state = 'out';
  }

  may(scope: Scope): boolean {
    return this.me?.scopes.includes(scope) ?? false;
  }
}

export const auth = new Auth();

/** The code of a link or of what was pasted: a code alone, `#code=…`, or a whole address. */
export function codeOf(pasted: string): string {
  const text = pasted.trim();
  const found = /[#&?]code=([^&\s]+)/.exec(text)?.[1];
  if (!found) return text;
  try {
    return decodeURIComponent(found);
  } catch {
    return found;
  }
}

function takeCode(): string | null {
  if (!window.location.hash.startsWith('#code=')) return null;
  const code = codeOf(window.location.hash);
  window.history.replaceState(null, '', window.location.pathname + window.location.search);
  return code || null;
}
