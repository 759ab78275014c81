import { describe, expect, it } from 'vitest';
import { createProduct } from '../../../../src/core/names/product.ts';
import { findManager } from '../../../../src/updater/compose/enable/find-manager.ts';
import { planSettingsChange } from '../../../../src/updater/compose/enable/settings-change.ts';

const product = createProduct({ name: 'larder', services: ['app', 'updates'] });
const change = (text: string | null, app = 'web', undo = false, workers = ['jobs']) =>
  planSettingsChange('.svc-updater.yaml', text, { product, app, workers, undo })?.after ?? null;

describe('planSettingsChange', () => {
  it.each<[string, string | null, string]>([
    ['a new file', null, 'services: [web, jobs, updates]\n'],
    ['other settings', 'rehearse: true\n', 'rehearse: true\nservices: [web, jobs, updates]\n'],
    ['a list in brackets', 'services: [web, jobs] # mine\n', 'services: [web, jobs, updates] # mine\n'],
    ['a list in lines', 'services:\n- web\n- jobs # mine\n', 'services:\n- web\n- jobs # mine\n- updates\n'],
    ['an indented list', 'services:\n  - web\n', 'services:\n  - web\n  - jobs\n  - updates\n'],
    ['an empty file', '\n', 'services: [web, jobs, updates]\n'],
    ['comments', '# mine\n', '# mine\n\nservices: [web, jobs, updates]\n'],
    ['braces', '{data: {db: none}}\n', '{data: {db: none}, services: [web, jobs, updates]}\n'],
    [
      'a file without a last line break',
      'rehearse: true',
      'rehearse: true\nservices: [web, jobs, updates]\n',
    ],
    ['a longer list', 'services: [web, jobs, more]\n', 'services: [web, jobs, more, updates]\n'],
  ])('adds the service to %s', (_, text, after) => {
    expect(change(text)).toBe(after);
  });

  it.each(['  rehearse: true\n', 'rehearse: true\r\ndata: {db: none}\r\n', 'rehearse:   true\n'])(
    'refuses a file whose other text would change, with the line: %j',
    (text) => {
      expect(() => change(text)).toThrow(
        expect.objectContaining({ code: 'enable-refused', detail: ['services: [web, jobs, updates]'] }),
      );
    },
  );

  it('refuses an invalid file with the cause', () => {
    expect(() => change('services: web\n')).toThrow(expect.objectContaining({ code: 'settings-invalid' }));
  });

  it('changes nothing if the product has the services of the instance', () => {
    expect(change(null, 'app', false, [])).toBeNull();
    expect(change(null, 'app', true, [])).toBeNull();
  });

  it.each([
    ['services: [web, jobs, updates]\n', 'services: [web, jobs]\n'],
    ['services:\n  - web\n  - updates\nrehearse: true\n', 'services:\n  - web\nrehearse: true\n'],
  ])('removes the service from %j', (text, after) => {
    expect(change(text, 'web', true)).toBe(after);
  });
});

describe('findManager', () => {
  it.each([
    ['/data/compose/12', 'Portainer'],
    ['/data/coolify/services/abc', 'Coolify'],
    ['/var/lib/casaos/apps/larder', 'CasaOS'],
    ['/etc/dokploy/compose/larder', 'Dokploy'],
    ['/home/umbrel/umbrel/app-data/larder', 'umbrelOS'],
    ['/opt/stacks/larder', null],
    ['/opt/data/compose/larder', null],
  ])('finds for %s: %s', (directory, manager) => {
    expect(findManager(directory)).toBe(manager);
  });
});
