import { html } from 'hono/html';
import type { Person } from '../sessions.ts';

export type Html = ReturnType<typeof html>;

const views = { Jobs: '/jobs', Data: '/data', 'Build servers': '/build-servers', Settings: '/settings' };
export type View = keyof typeof views;

interface Layout {
  view: View;
  version: string;
  person: Person;
  content: Html;
}

/** The layout of every page: the sidebar with the notice at the bottom, and the content. */
export function layout({ view, version, person, content }: Layout): Html {
  const isAdmin = person.role === 'admin';
  const links = Object.entries(views).map(([name, path]) => {
    return html`<a href="${path}" ${name === view ? html`aria-current="page"` : ''}>${name}</a>`;
  });
  return document(
    view,
    html`<nav>
      <strong>svc</strong>
      ${links}
      <form method="post" action="/logout">
        <span>${person.name}, ${person.role}</span>
        <button class="quiet">Log out</button>
      </form>
      <svc-update-notice version="${version}" ${isAdmin ? html`admin` : ''}></svc-update-notice>
    </nav>
    <main>
      <h1>${view}</h1>
      ${content}
    </main>
    <svc-update-dialog version="${version}" settings-url="/settings" ${isAdmin ? html`admin` : ''}></svc-update-dialog>`,
  );
}

export function document(title: string, body: Html): Html {
  return html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <title>${title} – svc</title>
    <link rel="stylesheet" href="/assets/style.css">
    <script type="module" src="/assets/svc-updater.mjs"></script>
    <script type="module" src="/assets/page.js"></script>
  </head>
  <body>
    ${body}
  </body>
</html>
`;
}
