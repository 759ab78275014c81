import { describe, expect, it } from 'vitest';
import { errorCodes, UpdateError } from '../../../src/core/errors/update-error.ts';
import { createProduct, svcProduct } from '../../../src/core/names/product.ts';
import { unknownOutcomeDetails } from '../../../src/updater/run/log/outcome-details.ts';
import { Log } from '../../../src/updater/run/log/run-log.ts';
import { createFailedOutcome } from '../../../src/updater/run/log/run-outcome.ts';
import { parseCommandLine, UsageError } from '../../../src/updater/run/options/command-line.ts';
import { explainErrorCode } from '../../../src/updater/run/options/explain-error-code.ts';
import { updateOptionsOf } from '../../../src/updater/run/options/update-options.ts';
import { formatUsage } from '../../../src/updater/run/options/usage.ts';

const larder = createProduct({ name: 'larder', services: ['web', 'jobs'], containerName: 'my-larder' });
const told = JSON.stringify({ name: 'larder', services: ['web', 'jobs'], containerName: 'my-larder' });

describe('the product in the environment', () => {
  it('sets the default services and version variable', () => {
    const env = { SVC_UPDATER_PRODUCT: told };
    expect(updateOptionsOf(parseCommandLine([], env))).toMatchObject({
      product: larder,
      app: 'web',
      workers: ['jobs'],
      servicesNamed: false,
      versionVariable: 'LARDER_VERSION',
    });
    expect(updateOptionsOf(parseCommandLine(['--service', 'x', '--version-var', 'TAG'], env))).toMatchObject({
      product: larder,
      app: 'x',
      workers: [],
      servicesNamed: true,
      versionVariable: 'TAG',
    });
    expect(parseCommandLine(['--help'], env)).toMatchObject({ command: 'help', product: larder });
  });

  it.each([
    ['larder', createProduct({ name: 'larder' })],
    ['', svcProduct],
  ])('can be only a name: %j', (text, product) => {
    expect(parseCommandLine([], { SVC_UPDATER_PRODUCT: text })).toMatchObject({ product });
  });

  it.each([
    ['Larder', 'name must be one word of lower-case letters, digits and hyphens, not "Larder"'],
    ['{"name":"larder","port":1}', 'port is not a known key'],
  ])('is reported together with other errors: %s', (text, why) => {
    expect(() => parseCommandLine(['--nope'], { SVC_UPDATER_PRODUCT: text })).toThrow(
      new UsageError([`SVC_UPDATER_PRODUCT is invalid: ${why}`, 'unknown option --nope']),
    );
  });
});

describe('texts for users', () => {
  it('do not change for svc', () => {
    expect(formatUsage(svcProduct)).toContain('svc-updater [update] [options]');
    expect(formatUsage(svcProduct)).toContain('[SVC_UPDATER_TARGET]');
  });

  it('do not mention svc in the help of another product', () => {
    const help = formatUsage(larder);
    // The settings file has the same name for every product.
    expect(help).toContain('services in .svc-updater.yaml');
    expect(help.replaceAll(/\.svc-updater(?:\.yaml|\/restore)/g, '')).not.toMatch(/svc/i);
    expect(help).toContain('larder-updater plan [options] ');
    expect(help).toContain(
      '(default: web and all services labelled larder.role=worker; if no service has this label, web and jobs)',
    );
    expect(help).toContain('Variable that contains the version (default: LARDER_VERSION)');
    expect(help).toContain('docker run --rm --name my-larder --stop-timeout 120');
    expect(help).toContain('-v /opt/larder:/opt/larder larder-updater --target');
  });

  it.each(errorCodes)('do not mention svc in the last line or explanation of %s', (code) => {
    const { message } = createFailedOutcome(
      new UpdateError(code, 'x'),
      { ...unknownOutcomeDetails, product: larder },
      new Log(() => {}),
    );
    // The state directory has the same name for every product.
    for (const text of [message, explainErrorCode(code, larder)])
      expect(text.replaceAll('.svc-updater', '')).not.toMatch(/svc/i);
  });
});
