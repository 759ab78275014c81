import { openUpdateDialog, SvcUpdateDialog } from './elements/dialog.ts';
import { SvcUpdateNotice } from './elements/notice.ts';
import { SvcUpdateChannel, SvcUpdateSettings } from './elements/settings.ts';

export { setTexts, type TextOverrides, type Texts } from './texts.ts';
export { openUpdateDialog, SvcUpdateChannel, SvcUpdateDialog, SvcUpdateNotice, SvcUpdateSettings };

const elements = {
  'svc-update-notice': SvcUpdateNotice,
  'svc-update-dialog': SvcUpdateDialog,
  'svc-update-channel': SvcUpdateChannel,
  'svc-update-settings': SvcUpdateSettings,
};

// A page may load this module more than once.
for (const [name, element] of Object.entries(elements)) {
  if (!customElements.get(name)) customElements.define(name, element);
}
