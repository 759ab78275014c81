import type { AddedReleaseSetting } from '../../wire/status.ts';
import { h, type VNodeChild } from '../dom/vnode.ts';
import type { DialogContext } from './components.ts';

/** Renders fields only for new settings that have no value and are not generated. */
export function renderNewSettingFields(
  settings: readonly AddedReleaseSetting[],
  { local, set, t }: DialogContext,
): VNodeChild {
  const { values = {}, lacking } = local;
  const requested = settings.filter(({ isSet, generated }) => !isSet && !generated);
  const fields = requested.map(({ name, description, required, secret, default: usual }) => {
    const oninput = ({ target }: Event) =>
      set({ values: { ...values, [name]: Object(target).value }, lacking: undefined });
    const own = secret
      ? { type: 'password', autocomplete: 'new-password', value: values[name] }
      : { type: 'text', autocomplete: 'off', placeholder: usual, value: values[name] ?? usual };
    const state = { required, 'aria-invalid': lacking === name && 'true', oninput };
    return h(
      'label.field',
      { key: name },
      h('b', required ? t.requiredSetting(name) : name),
      h('span', description),
      h('input', { name, spellcheck: 'false', ...own, ...state }),
    );
  });
  const alert = lacking !== undefined && h('p.bad', { role: 'alert' }, t.valueMissing(lacking));
  return requested.length > 0 && h('div.fields', { key: 'settings' }, t.newSettings, ...fields, alert);
}
