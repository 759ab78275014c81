import { describe, expect, it } from 'vitest';
import { findPin } from '../../src/compose/find-pin.ts';
import { pinEdits } from '../../src/compose/pin-edits.ts';
import { project } from '../fuzz/layouts.ts';

describe('moving pins, however the files are written', () => {
  it('moves many services at once', () => {
    const count = 1000;
    const services = Array.from(
      { length: count },
      (_, i) => `  s${i}:\n    image: svc:\${V${i % 7 === 0 ? i : ''}:-v1.0.0}\n    restart: always\n`,
    );
    const env = Array.from({ length: 10_000 }, (_, i) => `K${i}=value ${i}\n`);
    const files = project({
      'compose.yaml': `services:\n${services.join('')}`,
      '.env': `${env.join('')}V=v1.0.0\n`,
    });
    const pins = Array.from({ length: count }, (_, i) => findPin(files, `s${i}`));
    expect(
      pinEdits(
        files,
        pins.map((pin) => ({ pin, tag: 'v1.5.0' })),
      ),
    ).toHaveLength(Math.ceil(count / 7) + 1);
  });
});
