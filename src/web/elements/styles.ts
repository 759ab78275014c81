const StyleSheetClass =
  globalThis.CSSStyleSheet ??
  class {
    replaceSync() {}
  };

/** Constructed style sheets are used because every content security policy allows them. */
export function createStyleSheet(css: string): CSSStyleSheet {
  const made = new StyleSheetClass();
  made.replaceSync(css);
  return made;
}

/**
 * Styles of all elements. A page can override custom properties, and select light or dark colors with `color-scheme`.
 * Sizes are in em, because users may double the text size.
 */
export const baseStyleSheet = createStyleSheet(`
:host {
  /* A header often shows its text in capitals, centered or on one line. */
  all: initial;
  color-scheme: inherit;
  visibility: inherit;
  -webkit-text-size-adjust: 100%;
  --accent: var(--svc-update-accent, light-dark(#3550e0, #93a4ff));
  --on-accent: var(--svc-update-on-accent, light-dark(#fff, #0d1330));
  --accent-tint: var(--svc-update-accent-tint, light-dark(#eef0fd, #1f2440));
  --surface: var(--svc-update-surface, light-dark(#fff, #1b1d21));
  --sunken: var(--svc-update-sunken, light-dark(#f1f1ee, #141619));
  --text: var(--svc-update-text, light-dark(#1a1b1e, #ececef));
  --muted: var(--svc-update-muted, light-dark(#5b5e66, #a2a6b0));
  --line: var(--svc-update-line, light-dark(#e0e0dc, #2e3138));
  --edge: var(--svc-update-edge, light-dark(#8b8e96, #6d717b));
  --ok: var(--svc-update-ok, light-dark(#15713d, #5fd08f));
  --warn: var(--svc-update-warn, light-dark(#8a5a00, #e6b450));
  --bad: var(--svc-update-bad, light-dark(#b3261e, #ff8f85));
  --bad-tint: var(--svc-update-bad-tint, light-dark(#fdf1f0, #2b1a1a));
  --radius: var(--svc-update-radius, 8px);
  --space: var(--svc-update-space, 20px);
  --font: var(--svc-update-font, Inter, ui-sans-serif, system-ui, sans-serif);
  --mono: var(--svc-update-mono, ui-monospace, "DejaVu Sans Mono", Menlo, monospace);
  font: 400 var(--svc-update-font-size, max(.875rem, 14px))/1.5 var(--font);
  font-variant-numeric: tabular-nums;
  color: var(--text);
}
*, ::before, ::after { box-sizing: border-box }
h2, h3, h4, h5, p, ul, ol, pre { margin: 0; padding: 0; font: inherit }
button { font: inherit; color: inherit; letter-spacing: inherit }
a { color: var(--accent); text-underline-offset: 2px }
code, pre, textarea, .mono { font-family: var(--mono); font-size: .9em; font-variant-ligatures: none }
b { font-weight: 600 }
.muted { color: var(--muted) }
.small { font-size: .93em }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap }
.b { min-height: 2.57em; padding: .3em 1em; border-radius: var(--radius); border: 1px solid var(--line); background: var(--surface); cursor: pointer }
.b:hover { border-color: var(--edge) }
.b.primary { background: var(--accent); border-color: var(--accent); color: var(--on-accent); font-weight: 600 }
.b.primary:hover { filter: brightness(1.08) }
.b.quiet { border-color: transparent; background: none; color: var(--muted) }
.b.quiet:hover { background: var(--sunken) }
.b.danger { color: var(--bad) }
.b[aria-disabled=true] { cursor: default; opacity: .65 }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
h2:focus-visible, h3:focus-visible { outline: none }
.fields { display: grid; grid-template-columns: minmax(0, 1fr); gap: 12px; padding: 4px 12px }
.field { flex: 0 1 9em; display: grid; grid-template-columns: minmax(0, 1fr); gap: 2px }
input { margin: 0; font: inherit; accent-color: var(--accent) }
:is(.field, .plain) input:not([type=checkbox]) { min-width: 0; padding: .3em .6em; color: inherit; background: var(--surface); border: 1px solid var(--edge); border-radius: var(--radius) }
.field span { color: var(--muted); font-size: .93em }
p.bad { color: var(--bad) }
.box { border-radius: var(--radius); padding: 10px 12px; font-size: .93em; background: var(--sunken); display: grid; grid-template-columns: minmax(0, 1fr); gap: 4px }
.box.bad { background: var(--bad-tint) }
.box.bad b { color: var(--bad) }
.box.warn b { color: var(--warn) }
.box ul { padding-inline-start: 1.3em }
@media (forced-colors: active) { .b, .pill { border: 1px solid ButtonText } .b.primary { border-width: 2px } }
`);

export const dialogStyleSheet = createStyleSheet(`
:host { display: contents }
dialog { width: min(34.3em, 100% - 24px); max-width: none; max-height: min(52em, 100dvh - 24px); padding: 0; margin: auto; overflow: hidden; color: var(--text); background: var(--surface); border: 1px solid var(--line); border-radius: calc(var(--radius) * 2); box-shadow: 0 1px 2px #0001, 0 16px 48px -12px #0005 }
dialog[open] { display: flex; flex-direction: column }
.content { display: contents }
dialog::backdrop { background: #0006 }
header { display: flex; align-items: center; justify-content: space-between; gap: 8px; padding-block: 16px 12px; padding-inline: var(--space) 12px }
header h2 { font-size: 1.07em; font-weight: 600 }
.x { flex: none; width: 2.3em; height: 2.3em; display: grid; place-items: center; border: 0; background: none; border-radius: var(--radius); color: var(--muted); cursor: pointer }
.x:hover { background: var(--sunken) }
.x svg { width: 1em; height: 1em; fill: none; stroke: currentColor; stroke-width: 1.6; stroke-linecap: round }
.body { flex: 1 1 auto; min-height: 5em; overflow: auto; overscroll-behavior: contain; padding: 4px var(--space) 20px; display: grid; grid-template-columns: minmax(0, 1fr); gap: 16px; align-content: start }
.body > * { min-width: 0 }
.body, .past { overflow-wrap: anywhere }
.body .fields { padding: 0 }
.lead h3 { font-size: 1.57em; line-height: 1.25; font-weight: 600; letter-spacing: -.01em }
.lead h3 span { color: var(--muted); font-weight: 400 }
.lead p { margin-top: 4px; font-size: .93em; color: var(--muted) }
.actions { flex: none; display: flex; gap: 8px; flex-wrap: wrap; align-items: center; padding: 12px var(--space); border-top: 1px solid var(--line) }
.actions .end { margin-inline-start: auto }
.notes { background: var(--sunken); border-radius: var(--radius); padding: 12px 14px; font-size: .96em; display: grid; gap: 6px }
.notes h4, .notes h5 { font-weight: 600 }
.notes h4:not(:first-child) { margin-top: 6px }
.notes ul, .notes ol { padding-inline-start: 1.4em }
.notes pre { overflow: auto; white-space: pre-wrap }
.notes :is(ul, ol, p, pre, h5) { color: var(--muted) }
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
.stations { list-style: none; display: flex; flex-wrap: wrap; gap: 4px 8px }
.stations li { display: flex; align-items: center; gap: 6px }
.stations li + li::before { content: ""; width: 1.4em; border-top: 2px solid var(--line) }
.stations .now { font-weight: 600 }
.phases .t, .phases .ahead { color: var(--muted) }
.dot { align-self: center; width: 18px; height: 18px; color: var(--line) }
.dot svg { display: block; width: 18px; height: 18px; fill: none; stroke: currentColor; stroke-width: 1.5; stroke-linecap: round; stroke-linejoin: round }
.now .dot { color: var(--accent) }
.lead.ok h3, .done .dot, .past .ok { color: var(--ok) }
.lead.bad h3, .failed .dot, .past .bad { color: var(--bad) }
progress { appearance: none; display: block; width: 100%; height: 6px; margin-top: 4px; border: 0; border-radius: 3px; overflow: hidden; background: var(--sunken); grid-column: 2 / 4 }
progress::-webkit-progress-bar { background: var(--sunken) }
progress::-webkit-progress-value { background: var(--accent); border-radius: 3px }
progress::-moz-progress-bar { background: var(--accent) }
.unavailable { display: grid; justify-items: center; gap: 8px; padding: 24px 0 12px; text-align: center }
.clock { font-size: 2.86em; line-height: 1.25; font-weight: 600; letter-spacing: -.02em }
.unavailable h3 { font-size: 1.21em; font-weight: 600 }
textarea { width: 100%; min-height: 10em; padding: 10px 12px; color: inherit; background: var(--sunken); border: 1px solid var(--line); border-radius: var(--radius); resize: vertical }
.past { flex: 0 1 auto; min-height: 3.2em; overflow: auto; border-top: 1px solid var(--line); font-size: .93em; color: var(--muted) }
.past summary { padding: 12px var(--space); cursor: pointer }
.past summary:focus-visible { outline-offset: -4px; border-radius: calc(var(--radius) * 2) }
.past .inner { display: grid; grid-template-columns: minmax(0, 1fr); gap: 12px; padding: 0 var(--space) 16px }
.past table { width: 100%; border-collapse: collapse }
.past td { padding: 4px 0; padding-inline-end: 10px; vertical-align: baseline }
.past td:last-child { padding-inline-end: 0 }
@media (max-width: 30em) {
  dialog { width: calc(100% - 16px); max-height: calc(100dvh - 16px) }
  .jobs li { grid-template-columns: 1fr auto }
  .jobs .kind { grid-row: 2; grid-column: 1 / 3 }
  .past tr { display: flex; flex-wrap: wrap; padding: 4px 0 }
  .past td { padding-block: 0 }
}
/* Where hardly a line would be left between header and buttons, all of it moves. */
@media (max-height: 26em) { dialog[open] { display: block; overflow: auto } .body, .past { overflow: visible } }
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
`);

export const noticeStyleSheet = createStyleSheet(`
:host { display: inline-flex; align-items: center; flex-shrink: 9999; min-width: max(3.4em, min(5em, 100%)); max-width: min(100%, max(9.5em, 35vw)); vertical-align: middle }
:host([hidden]) { display: none }
/* Without room for both, the version wraps to a line above, where it is hidden. */
[part=bar] { flex: auto; min-width: 0; display: flex; flex-wrap: wrap; align-content: end; column-gap: 4px; height: calc(1.4em + 8px) }
.version, .pill { flex: none; max-width: 100%; overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
.version { border: 0; background: none; padding: 4px 8px; border-radius: 6px; color: color-mix(in srgb, var(--muted), var(--text)); font-size: .93em }
button.version { cursor: pointer; text-decoration: underline dotted; text-underline-offset: 3px }
button.version:hover { color: var(--text) }
.pill { border: 1px solid transparent; border-radius: 999px; padding: 3px 10px; font-size: .93em; font-weight: 500; background: var(--accent-tint); color: var(--accent); text-align: start }
button.pill { cursor: pointer }
button.pill:hover { border-color: currentColor }
.pill.bad { background: var(--bad-tint); color: var(--bad) }
.toast { position: fixed; inset: auto 16px 16px auto; inset-inline: auto 16px; margin: 0; width: min(26em, 100% - 32px); max-height: calc(100dvh - 32px); overflow: auto; padding: 14px 16px; color: var(--text); background: var(--surface); border: 1px solid var(--line); border-radius: calc(var(--radius) * 1.5); box-shadow: 0 1px 2px #0001, 0 12px 32px -8px #0005 }
.toast .inner { display: grid; gap: 8px; overflow-wrap: anywhere }
.toast .top { display: flex; align-items: start; justify-content: space-between; gap: 8px }
.toast .top b { color: var(--ok); font-size: 1.07em }
.toast .row { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; justify-content: space-between }
`);

export const formStyleSheet = createStyleSheet(`
:host { display: block; max-width: 40em }
:host([hidden]) { display: none }
form { display: grid; grid-template-columns: minmax(0, 1fr); gap: 12px; overflow-wrap: anywhere }
fieldset { margin: 0; padding: 0; border: 0; min-width: 0; display: grid; grid-template-columns: minmax(0, 1fr); gap: 8px }
.choice { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: 2px 10px; padding: 10px 12px; border: 1px solid var(--line); border-radius: var(--radius); cursor: pointer }
.choice:has(:checked) { border-color: var(--accent); background: var(--accent-tint) }
.choice b, .choice span { grid-column: 2 }
.choice span { color: var(--muted); font-size: .93em }
.choice input { grid-row: 1; margin: .25em 0 }
[type=number] { width: 5em }
.row { display: flex; flex-wrap: wrap; gap: 12px; align-items: center }
.bad { color: var(--bad) }
.ok { color: var(--ok) }
`);
