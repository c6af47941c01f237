// The filters of the audit: from the address, and as the query of the API.

export interface Filters {
  range: '' | '1' | '24' | '168' | '720' | 'own';
  since: string;
  until: string;
  effect: '' | 'allow' | 'deny';
  principal: string;
  channel: string;
  policy: string;
}

export function emptyFilters(): Filters {
  return { range: '', since: '', until: '', effect: '', principal: '', channel: '', policy: '' };
}

export function filtersOf(query: URLSearchParams): Filters {
  const effect = query.get('effect');
  return {
    ...emptyFilters(), effect: effect === 'allow' || effect === 'deny' ? effect : '',
    principal: query.get('principal') ?? '', channel: query.get('channel') ?? '', policy: query.get('policy') ?? '',
  };
}

/** Times are milliseconds; a range counts back from now. */
export function auditQuery(filters: Filters, now: number): Record<string, string | number | undefined> {
  const at = (text: string) => (text ? new Date(text).getTime() || undefined : undefined);
  const hours = Number(filters.range);
  return {
    since: filters.range === 'own' ? at(filters.since) : hours > 0 ? now - hours * 3_600_000 : undefined,
    until: filters.range === 'own' ? at(filters.until) : undefined,
    effect: filters.effect || undefined, principal: filters.principal.trim() || undefined, channel: filters.channel.trim() || undefined, policy: filters.policy.trim() || undefined,
  };
}
