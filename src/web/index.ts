import { openUpdateDialog, SvcUpdateDialog } from './elements/dialog.ts';
import { SvcUpdateNotice } from './elements/notice.ts';
import { SvcUpdateChannel, SvcUpdateSettings } from './elements/settings.ts';
import type { ElementEvents } from './tags.ts';

export { refresh, setAuthorization, setHeaders } from './session.ts';
export { setTexts, type TextOverrides, type Texts } from './texts.ts';
export { openUpdateDialog, SvcUpdateChannel, SvcUpdateDialog, SvcUpdateNotice, SvcUpdateSettings };

const elements = {
  'svc-update-notice': SvcUpdateNotice,
  'svc-update-dialog': SvcUpdateDialog,
  'svc-update-channel': SvcUpdateChannel,
  'svc-update-settings': SvcUpdateSettings,
};

/** Element types by tag name. */
export type ElementTags = { [T in keyof typeof elements]: InstanceType<(typeof elements)[T]> };

declare global {
  interface HTMLElementTagNameMap extends ElementTags {}
  interface GlobalEventHandlersEventMap extends ElementEvents {}
}

// A server that renders pages has no `CSS`. In an older browser, which lacks custom states, the elements would throw.
const styles = globalThis.CSS as typeof CSS | undefined;
const registry = styles?.supports('selector(:state(empty))') ? customElements : null;
for (const [name, element] of Object.entries(elements)) {
  // If a page loads this module twice, the element is already registered.
  if (registry && !registry.get(name)) registry.define(name, element);
}
