// The pages: their paths, names in the navigation, keys, and where their code is. Each page is a chunk of its own.
import type { Component } from 'svelte';
import type { IconName } from './ui/icons';

/** What every page gets. */
export interface PageProps {
  params: Record<string, string>;
}

export interface Page {
  /** The pattern of its paths; the page gets the parts as `params`. */
  path: string;
  title: string;
  icon: IconName;
  /** The letter after `g`. */
  key: string;
  load: () => Promise<{ default: Component<PageProps> }>;
}

export const pages: Record<string, Page> = {
  sessions: { path: '/sessions/:id?', title: 'Sessions', icon: 'sessions', key: 's', load: () => import('./pages/sessions/SessionsPage.svelte') },
  approvals: { path: '/approvals/:id?', title: 'Approvals', icon: 'approvals', key: 'a', load: () => import('./pages/approvals/ApprovalsPage.svelte') },
  runs: { path: '/runs/:id?', title: 'Runs', icon: 'runs', key: 'r', load: () => import('./pages/runs/RunsPage.svelte') },
  agents: { path: '/agents/:id?', title: 'Agents', icon: 'agents', key: 'd', load: () => import('./pages/agents/AgentsPage.svelte') },
  access: { path: '/access/:tab?/:id?', title: 'Access', icon: 'access', key: 'c', load: () => import('./pages/access/AccessPage.svelte') },
  health: { path: '/health', title: 'Health', icon: 'health', key: 'h', load: () => import('./pages/health/HealthPage.svelte') },
};

export const patterns = Object.fromEntries(Object.entries(pages).map(([name, page]) => [name, page.path]));

/** The address of a page without anything chosen. */
export function home(name: string): string {
  return `/${name}`;
}
