import { html } from 'hono/html';
import type { Html } from './layout.ts';

/** page.js requests the rows every second. */
export function jobsPage(): Html {
  return html`<form method="post" action="/jobs" class="actions">
      <button name="start" value="deployment">Start a deployment</button>
      <button name="start" value="backup">Start a backup</button>
      <button name="start" value="stuck">Start a stuck backup</button>
      <span class="quiet" id="queue">One job runs at a time.</span>
    </form>
    <form method="post" action="/jobs">
      <table>
        <thead><tr><th>Job<th>Kind<th>State<th>Duration<th></tr></thead>
        <tbody id="jobs"></tbody>
      </table>
    </form>`;
}
