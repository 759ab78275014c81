export const noticeCss = `
:host { display: inline-flex; flex-wrap: wrap; align-items: center; gap: 4px }
:host([hidden]) { display: none }
.version { border: 0; background: none; padding: 4px 8px; border-radius: 6px; color: var(--muted); font-size: .93em }
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
`;

export const channelCss = `
:host { display: block; max-width: 40em }
:host([hidden]) { display: none }
form { display: grid; grid-template-columns: minmax(0, 1fr); gap: 12px; overflow-wrap: anywhere }
fieldset { margin: 0; padding: 0; border: 0; min-width: 0; display: grid; grid-template-columns: minmax(0, 1fr); gap: 8px }
label { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: 2px 10px; padding: 10px 12px; border: 1px solid var(--line); border-radius: var(--radius); cursor: pointer }
label:has(:checked) { border-color: var(--accent); background: var(--accent-tint) }
label b, label span { grid-column: 2 }
label span { color: var(--muted); font-size: .93em }
input { grid-row: 1; margin: .25em 0; accent-color: var(--accent) }
.row { display: flex; flex-wrap: wrap; gap: 12px; align-items: center }
.bad { color: var(--bad) }
.ok { color: var(--ok) }
`;
