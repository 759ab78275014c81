import { html } from 'hono/html';
import type { BuildServers } from '../build-servers.ts';
import type { Html } from './layout.ts';

type Known = Awaited<ReturnType<BuildServers['list']>>;

export function buildServersPage(servers: Known, version: string): Html {
  if (servers.length === 0) return html`<p>No build servers have connected yet.</p>`;
  const rows = servers.map(
    (server) => html`<tr>
        <td>${server.name}<td>${server.version}
        <td>${server.version === version ? html`<span class="good">up to date</span>` : html`<span class="odd">svc is running ${version}</span>`}
        <td>${Math.round((Date.now() - server.seenAt.getTime()) / 1000)} s ago
      </tr>`,
  );
  return html`<p>These machines run <code>svc-worker</code> in agent mode. Update them separately: an update of svc does not include them.</p>
    <table>
      <thead><tr><th>Name<th>Version<th><th>Last seen</tr></thead>
      <tbody>${rows}</tbody>
    </table>`;
}
