import { html } from 'hono/html';
import { platformReleases } from '../releases.ts';

/** The releases, each with a button until it is published. */
export function forgePage(published: ReadonlySet<string>): string {
  const rows = platformReleases.map(({ version, notes }) => {
    const button = html`<form method="post" action="/publish?version=${version}"><button>Publish</button></form>`;
    return html`<tr><td>${version}<td>${notes.replaceAll(/[#*\n]+/g, ' ')}<td>${published.has(version) ? 'published' : button}</tr>`;
  });
  return String(html`<!doctype html>
<html lang="en">
  <meta charset="utf-8">
  <title>Releases of acme/svc</title>
  <style>
    :root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
    td { padding: 0.4rem 1.5rem 0.4rem 0; border-bottom: 1px solid gray; }
  </style>
  <h1>Releases of acme/svc</h1>
  <p>This page is a stand-in for GitHub. Publish a release, then click Check again in the update dialog of svc.</p>
  <table>${rows}</table>
</html>`);
}
