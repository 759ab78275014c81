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

// The registry is undefined on a server that renders pages.
const registry = globalThis.customElements as CustomElementRegistry | undefined;
for (const [name, element] of Object.entries(elements)) {
  // If a page loads this module twice, the element is already registered.
  if (registry && !registry.get(name)) registry.define(name, element);
}
