import { html } from 'hono/html';
import type { Item } from '../items.ts';
import type { Html } from './layout.ts';

export function dataPage(items: readonly Item[], showsAuthor: boolean): Html {
  const rows = items.map(
    ({ id, name, made_at, author }) => html`<tr>
        <td>${id}<td>${name}<td>${made_at.toISOString().slice(0, 16).replace('T', ' ')}${showsAuthor ? html`<td>${author}` : ''}
      </tr>`,
  );
  return html`<form method="post" action="/data" class="actions">
      <input name="name" required maxlength="80" placeholder="A name" aria-label="Name">
      <button>Add a row</button>
      <span class="quiet"><output id="count">${items.length}</output> rows in PostgreSQL</span>
    </form>
    <table>
      <thead><tr><th>No.<th>Name<th>Created${showsAuthor ? html`<th>Created by` : ''}</tr></thead>
      <tbody>${rows}</tbody>
    </table>`;
}
