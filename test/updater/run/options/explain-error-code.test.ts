import { describe, expect, it } from 'vitest';
import { formatAdvice } from '../../../../src/core/errors/advice.ts';
import { errorCodes, UpdateError } from '../../../../src/core/errors/update-error.ts';
import { svcProduct } from '../../../../src/core/names/product.ts';
import {
  explainErrorCode,
  findSimilarNames,
} from '../../../../src/updater/run/options/explain-error-code.ts';

describe('explain', () => {
  it('prints the meaning, the reason and the advice of a code', () => {
    expect(explainErrorCode('downgrade', svcProduct)).toBe(`downgrade: outcome refused, exit code 3
Meaning: The target is older than the running version.
Why: The running version may have migrated the data. Migrations cannot be undone, and an older version may damage migrated data.
What to do: Choose a release that is newer than the running version. Downgrades are not supported.
`);
  });

  it.each(errorCodes)('prints the advice and the exit code of %s', (code) => {
    const { advice, outcome } = new UpdateError(code, 'x');
    const [head, meaning, ...others] = explainErrorCode(code, svcProduct).split('\n');
    expect(head).toMatch(new RegExp(`^${code}: outcome ${outcome}, exit code [2-5]$`));
    expect(meaning).toMatch(/^Meaning: [A-Za-z].{15,200}\.$/);
    expect(others).toContain(`What to do: ${formatAdvice(advice)}`);
  });

  it('lists all codes with their meaning if no code is specified', () => {
    const lines = explainErrorCode(null, svcProduct).trimEnd().split('\n');
    expect(lines.map((line) => line.split(' ')[0])).toEqual(errorCodes);
    expect(lines).toContain('downgrade                 The target is older than the running version.');
  });
});

describe('findSimilarNames', () => {
  it.each([
    ['unhealty', ['unhealthy']],
    ['restore-point', ['no-restore-point', 'restore-point-damaged', 'restore-point-unreadable']],
    ['DRIFT', []],
    ['', []],
  ])('finds codes similar to %j', (word, codes) => {
    expect(findSimilarNames(word, errorCodes)).toEqual(codes);
  });
});
