export const dialogCss = `
:host { display: contents }
dialog { width: min(34.3em, 100% - 24px); max-width: none; max-height: min(52em, 100dvh - 24px); padding: 0; margin: auto; overflow: hidden; color: var(--text); background: var(--surface); border: 1px solid var(--line); border-radius: calc(var(--radius) * 2); box-shadow: 0 1px 2px #0001, 0 16px 48px -12px #0005 }
dialog[open] { display: flex; flex-direction: column }
.content { display: contents }
dialog::backdrop { background: #0006 }
header { display: flex; align-items: center; justify-content: space-between; gap: 8px; padding: 16px 12px 12px var(--space) }
header { padding-inline: var(--space) 12px }
header h2 { font-size: 1.07em; font-weight: 600 }
.x { flex: none; width: 2.3em; height: 2.3em; display: grid; place-items: center; border: 0; background: none; border-radius: var(--radius); color: var(--muted); cursor: pointer }
.x:hover { background: var(--sunken) }
.x svg { width: 1em; height: 1em; fill: none; stroke: currentColor; stroke-width: 1.6; stroke-linecap: round }
.body { flex: 1 1 auto; min-height: 5em; overflow: auto; overscroll-behavior: contain; padding: 4px var(--space) 20px; display: grid; grid-template-columns: minmax(0, 1fr); gap: 16px; align-content: start }
.body > * { min-width: 0 }
.body, .past { overflow-wrap: anywhere }
.lead h3 { font-size: 1.57em; line-height: 1.25; font-weight: 600; letter-spacing: -.01em }
.lead h3 span { color: var(--muted); font-weight: 400 }
.lead p { margin-top: 4px; font-size: .93em; color: var(--muted) }
.lead.bad h3 { color: var(--bad) }
.lead.ok h3 { color: var(--ok) }
.actions { flex: none; display: flex; gap: 8px; flex-wrap: wrap; align-items: center; padding: 12px var(--space); border-top: 1px solid var(--line) }
.actions .end { margin-inline-start: auto }
.notes { background: var(--sunken); border-radius: var(--radius); padding: 12px 14px; font-size: .96em; display: grid; gap: 6px }
.notes h4 { font-weight: 600; margin-top: 6px }
.notes > :first-child { margin-top: 0 }
.notes h5 { margin: 0; font: inherit; font-weight: 600; color: var(--muted) }
.notes ul, .notes ol { padding-inline-start: 1.4em; color: var(--muted) }
.notes p { color: var(--muted) }
.notes pre { overflow: auto; white-space: pre-wrap; color: var(--muted) }
.more { justify-self: start; border: 0; padding: 2px 0; background: none; color: var(--accent); text-decoration: underline; text-underline-offset: 2px; cursor: pointer }
.cmd { display: flex; align-items: center; gap: 8px; background: var(--sunken); border-radius: var(--radius); padding: 4px; padding-inline-start: 12px }
.cmd code { flex: 1; min-width: 0; overflow: auto; white-space: nowrap; padding: 4px 0; unicode-bidi: isolate; direction: ltr; text-align: start }
.cmd .b { flex: none; min-height: 2.1em; padding: 0 .8em; font-size: .9em }
.cmds { display: grid; grid-template-columns: minmax(0, 1fr); gap: 8px }
.jobs { border: 1px solid var(--line); border-radius: var(--radius); list-style: none }
.jobs li { display: grid; grid-template-columns: 6.3em 1fr auto; gap: 8px; padding: 8px 12px }
.jobs li + li { border-top: 1px solid var(--line) }
.jobs .kind, .jobs .t { color: var(--muted) }
.jobs .stuck { color: var(--warn); font-weight: 500 }
.phases { list-style: none; display: grid }
.phases li { display: grid; grid-template-columns: 20px 1fr auto; gap: 2px 10px; padding: 6px 0; align-items: baseline }
.phases .t, .phases .ahead { color: var(--muted) }
.phases li.ahead { color: var(--muted) }
.phases .now b { font-weight: 600 }
.dot { align-self: center; width: 18px; height: 18px; color: var(--line) }
.dot svg { display: block; width: 18px; height: 18px; fill: none; stroke: currentColor; stroke-width: 1.5; stroke-linecap: round; stroke-linejoin: round }
.done .dot { color: var(--ok) }
.now .dot { color: var(--accent) }
.failed .dot { color: var(--bad) }
progress { appearance: none; display: block; width: 100%; height: 6px; margin-top: 4px; border: 0; border-radius: 3px; overflow: hidden; background: var(--sunken); grid-column: 2 / 4 }
progress::-webkit-progress-bar { background: var(--sunken) }
progress::-webkit-progress-value { background: var(--accent); border-radius: 3px }
progress::-moz-progress-bar { background: var(--accent) }
.away { display: grid; justify-items: center; gap: 8px; padding: 24px 0 12px; text-align: center }
.clock { font-size: 2.86em; line-height: 1.25; font-weight: 600; letter-spacing: -.02em }
.away h3 { font-size: 1.21em; font-weight: 600 }
textarea { width: 100%; min-height: 10em; padding: 10px 12px; color: inherit; background: var(--sunken); border: 1px solid var(--line); border-radius: var(--radius); resize: vertical }
.past { flex: 0 1 auto; min-height: 3.2em; overflow: auto; border-top: 1px solid var(--line); font-size: .93em; color: var(--muted) }
.past summary { padding: 12px var(--space); cursor: pointer }
.past summary:focus-visible { outline-offset: -4px; border-radius: calc(var(--radius) * 2) }
.past .inner { display: grid; grid-template-columns: minmax(0, 1fr); gap: 12px; padding: 0 var(--space) 16px }
.past table { width: 100%; border-collapse: collapse }
.past td { padding: 4px 0; padding-inline-end: 10px; vertical-align: baseline }
.past td:last-child { padding-inline-end: 0 }
.past .ok { color: var(--ok) }
.past .bad { color: var(--bad) }
@media (max-width: 30em) {
  dialog { width: calc(100% - 16px); max-height: calc(100dvh - 16px) }
  .jobs li { grid-template-columns: 1fr auto }
  .jobs .kind { grid-row: 2; grid-column: 1 / 3 }
  .past tr { display: flex; flex-wrap: wrap; padding: 4px 0 }
  .past td { padding-block: 0 }
}
/* Where hardly a line would be left between header and buttons, all of it moves. */
@media (max-height: 26em) { dialog[open] { display: block; overflow: auto } .body { overflow: visible } .past { overflow: visible } }
@media (forced-colors: active) {
  .box, .notes, .cmd { border: 1px solid CanvasText }
  .dot { forced-color-adjust: auto; color: CanvasText }
  progress { border: 1px solid CanvasText }
  progress::-webkit-progress-value { background: Highlight }
}
@media (prefers-reduced-motion: no-preference) {
  dialog[open] { animation: appear .12s ease-out }
  @keyframes appear { from { opacity: 0; transform: translateY(4px) } }
}
`;
