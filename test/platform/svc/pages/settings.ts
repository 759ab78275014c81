import { html } from 'hono/html';
import type { Person } from '../sessions.ts';
import type { Html } from './layout.ts';

export function settingsPage({ role }: Person): Html {
  if (role !== 'admin') return html`<p>Only an admin can change settings.</p>`;
  return html`<h2>Release channel</h2><svc-update-channel admin></svc-update-channel>`;
}
