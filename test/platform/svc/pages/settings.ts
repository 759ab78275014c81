import { html } from 'hono/html';
import type { Person } from '../sessions.ts';
import type { Html } from './layout.ts';

export function settingsPage({ role }: Person): Html {
  if (role !== 'admin') return html`<p>Only admins can change settings.</p>`;
  return html`<h2>Updates</h2><svc-update-settings></svc-update-settings>`;
}
