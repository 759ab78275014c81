import { expect, it } from 'vitest';
import { isIn } from '../../../src/instance/contract/time-window.ts';

const at = (clock: string) => new Date(`2026-11-21T${clock}:00`);

it.each([
  ['02:00', '05:00', '01:59', false],
  ['02:00', '05:00', '02:00', true],
  ['02:00', '05:00', '05:00', false],
  ['23:00', '01:00', '23:30', true],
  ['23:00', '01:00', '01:00', false],
  ['04:00', '04:00', '12:00', true],
])('from %s to %s, at %s: %s', (from, to, clock, is) => expect(isIn({ from, to }, at(clock))).toBe(is));
