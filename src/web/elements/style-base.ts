/**
 * What all elements share. Colours, space, radius and fonts are custom properties of the page, with defaults for a plain
 * one. Light or dark is as the page's `color-scheme` has it. Sizes are in em: text may be twice as large.
 */
export const baseCss = `
:host {
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
  font: 400 var(--svc-update-font-size, 0.875rem)/1.5 var(--font);
  font-variant-numeric: tabular-nums;
  color: var(--text);
}
*, ::before, ::after { box-sizing: border-box }
h2, h3, h4, p, ul, ol, pre { margin: 0; padding: 0; font: inherit }
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
.box { border-radius: var(--radius); padding: 10px 12px; font-size: .93em; background: var(--sunken); display: grid; grid-template-columns: minmax(0, 1fr); gap: 4px }
.box.bad { background: var(--bad-tint) }
.box.bad b { color: var(--bad) }
.box.warn b { color: var(--warn) }
.box ul { padding-inline-start: 1.3em }
@media (forced-colors: active) { .b, .pill { border: 1px solid ButtonText } .b.primary { border-width: 2px } }
`;
