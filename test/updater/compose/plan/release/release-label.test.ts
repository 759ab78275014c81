import { describe, expect, it } from 'vitest';
import { createProduct } from '../../../../../src/core/names/product.ts';
import {
  findMalformedLabelWarnings,
  findReleaseCommand,
} from '../../../../../src/updater/compose/plan/release/release-label.ts';
import { image } from '../../../../build.ts';
import { composeText, imageOf, installed, planTo } from '../../../../build-plan.ts';

const texts = { 'compose.yaml': composeText({ app: 'acme/svc:v1.0.0' }) };
const ofRecord = { ready: ['/app/ready'] };
const plan = (product = {}) =>
  planTo('v1.1.0', installed(texts, { product: createProduct({ name: 'svc', ...product }) }));
const labelled = (ready: string, version = '1.1.0') => {
  const base = imageOf('sha256:new', version);
  return image('sha256:new', { labels: { ...base.labels, 'svc.ready': ready } });
};
const words = (count: number, length = 1) => JSON.stringify(Array(count).fill('x'.repeat(length)));
const none = imageOf('sha256:new', '1.1.0');

describe('releaseCommand', () => {
  it.each([
    ['["/bin/check", "a b"]', ['/bin/check', 'a b']],
    [words(64, 4_096), JSON.parse(words(64, 4_096))],
  ])('returns the command of the label %.30s instead of the record', (label, expected) => {
    expect(findReleaseCommand(plan(ofRecord), labelled(label), 'ready')).toEqual(expected);
    expect(findReleaseCommand(plan(ofRecord), labelled(label), 'preflight')).toBeNull();
    expect(findMalformedLabelWarnings(plan(), labelled(label))).toEqual([]);
  });

  it.each(['/bin/check', '', '"/bin/check"', '[]', '[1]', '{}', words(65), words(1, 4_097), '["a\\u0000"]'])(
    'ignores the label %.30s with a warning',
    (label) => {
      expect(findReleaseCommand(plan(), labelled(label), 'ready')).toBeNull();
      expect(findReleaseCommand(plan(ofRecord), labelled(label), 'ready')).toEqual(ofRecord.ready);
      expect(findMalformedLabelWarnings(plan(), labelled(label))).toEqual([
        'the label svc.ready on acme/svc:v1.1.0 is malformed, so it is ignored',
      ]);
    },
  );

  it('ignores the label of another product without a warning', () => {
    expect(findReleaseCommand(plan(), labelled('["/bin/check"]', '9.9.9'), 'ready')).toBeNull();
    expect(findMalformedLabelWarnings(plan(), labelled('[]', '9.9.9'))).toEqual([]);
  });

  it('returns the command of the record if there is no label', () => {
    expect(findReleaseCommand(plan(ofRecord), none, 'ready')).toEqual(ofRecord.ready);
    expect(findReleaseCommand(plan(), none, 'ready')).toBeNull();
    expect(findReleaseCommand(plan(), undefined, 'ready')).toBeNull();
  });
});
