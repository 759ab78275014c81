import { html } from 'hono/html';
import { people } from '../sessions.ts';
import { document, type Html } from './layout.ts';

export function loginPage(version: string): Html {
  const buttons = Object.values(people).map(
    ({ name, role }) => html`<button name="who" value="${name}">Log in as ${role}, ${name}</button>`,
  );
  return document(
    'Log in',
    html`<main class="login">
      <h1>svc</h1>
      <p>A small platform to try updates on. No password is needed.</p>
      <form method="post" action="/login">${buttons}</form>
      <p class="quiet">${version}</p>
    </main>`,
  );
}
