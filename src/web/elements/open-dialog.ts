import type { SvcUpdateDialog } from './dialog.ts';
import { addressOf } from './update-element.ts';

/** Opens the dialog of an address: the one that the page has, else one that is made. */
export function openUpdateDialog(base: string | null, opener: HTMLElement | null = null): SvcUpdateDialog {
  const found = [...document.querySelectorAll<SvcUpdateDialog>('svc-update-dialog')].find(
    (dialog) => dialog.address === addressOf(base),
  );
  const dialog = found ?? (document.createElement('svc-update-dialog') as SvcUpdateDialog);
  if (!found) {
    for (const name of ['base', 'settings-url', 'dump-url', 'keep-title']) {
      const value = opener?.getAttribute(name);
      if (value !== null && value !== undefined) dialog.setAttribute(name, value);
    }
    if (base !== null) dialog.setAttribute('base', base);
    document.body.append(dialog);
  }
  dialog.open(opener);
  return dialog;
}
