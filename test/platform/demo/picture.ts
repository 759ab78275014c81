import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import gifenc from 'gifenc';
import type { Page } from 'playwright-core';
import { PNG } from 'pngjs';
import { openBrowser } from '../../rig/web/browser.ts';
import { removeAll } from './clean.ts';
import { setUp } from './set-up.ts';

// Makes docs/images/update.gif for the README: an update in a real browser, then a bad release that is rolled back.

const name = 'svc-updater-picture';
const directory = join(process.env.STATE ?? '/var/lib/svc-updater-dev', 'picture');
const registry = process.env.REGISTRY ?? '127.0.0.1:5000';
const traces = { name, directory, registry };
const file = fileURLToPath(new URL('../../../docs/images/update.gif', import.meta.url));
const size = { width: 860, height: 560 };
const [good, bad] = ['v1.1.0', 'v1.3.0'];
/**
 * Milliseconds. Important frames are shown in real time; waiting is shortened, so that everything takes about ten
 * seconds.
 */
const shown = { important: 1000, shortest: 120, together: 11_000 };
const largestBytes = 1_500_000;

interface Frame {
  pixels: Uint8Array;
  /** Milliseconds that the frame is shown. */
  delay: number;
  isImportant: boolean;
}

await removeAll(traces);
try {
  const { platform, forgeUrl } = await setUp({ ...traces, published: [good] });
  const browser = await openBrowser();
  try {
    const context = await browser.newContext({ viewport: size, baseURL: platform.url });
    context.setDefaultTimeout(180_000);
    const page = await context.newPage();
    await page.goto('/');
    await page.getByRole('button', { name: /admin/ }).click();
    await page.locator('svc-update-notice').getByText(`Update to ${good}`).waitFor();
    const camera = record(page);
    await camera.hold();
    await update(page, good);
    await page.locator('svc-update-notice .toast').getByText(good).first().waitFor();
    await camera.hold();
    await page.locator('svc-update-notice .toast').getByRole('button', { name: 'Close' }).click();
    await camera.pause(async () => {
      await fetch(`${forgeUrl}/publish?version=${bad}`, { method: 'POST' });
      await offered(page, bad);
    });
    await camera.hold();
    await update(page, bad);
    await page.locator('svc-update-dialog dialog').getByText('Rolled back').first().waitFor();
    await camera.hold(2);
    const bytes = encode(await camera.stop());
    if (bytes.length > largestBytes)
      throw new Error(`the picture has ${bytes.length} bytes, at most ${largestBytes} are allowed`);
    await writeFile(file, bytes);
    console.log(`docs/images/update.gif  ${Math.round(bytes.length / 1000)} KB`);
  } finally {
    await browser.close();
  }
} finally {
  await removeAll(traces);
}

async function update(page: Page, version: string): Promise<void> {
  await page
    .locator('svc-update-notice')
    .getByRole('button', { name: `Update to ${version}` })
    .click();
  await sleep(500);
  await page.locator('svc-update-dialog').getByRole('button', { name: 'Update now' }).click();
}

async function offered(page: Page, version: string): Promise<void> {
  for (;;) {
    await page.request.get('/api/v1/instance/update?refresh=1');
    await page.reload();
    const pill = page.locator('svc-update-notice').getByText(`Update to ${version}`);
    if (
      await pill.waitFor({ timeout: 2000 }).then(
        () => true,
        () => false,
      )
    )
      return;
  }
}

/** Takes pictures of a page until it is stopped, and keeps pictures that differ from the previous picture. */
function record(page: Page) {
  const frames: Frame[] = [];
  let state: 'on' | 'paused' | 'off' = 'on';
  let last = '';
  let running = Promise.resolve();
  const look = async (): Promise<void> => {
    const began = Date.now();
    const png = await page.screenshot().catch(() => null);
    if (png === null || state === 'paused') return;
    const text = png.toString('base64');
    if (text !== last) frames.push({ pixels: PNG.sync.read(png).data, delay: 0, isImportant: false });
    last = text;
    const frame = frames.at(-1);
    if (frame) frame.delay += Date.now() - began;
  };
  const loop = async (): Promise<void> => {
    while (state !== 'off') {
      await look();
      await sleep(80);
    }
  };
  running = loop();
  return {
    /** Shows the current page for a while. */
    hold: async (times = 1): Promise<void> => {
      await look();
      const frame = frames.at(-1);
      if (frame) Object.assign(frame, { delay: shown.important * times, isImportant: true });
    },
    /** Takes no pictures while something is prepared. */
    pause: async (prepare: () => Promise<void>): Promise<void> => {
      state = 'paused';
      await prepare();
      state = 'on';
    },
    stop: async (): Promise<Frame[]> => {
      state = 'off';
      await running;
      return shortened(frames);
    },
  };
}

/** Shortens the frames, and drops frames that would be shown for too short a time. */
function shortened(frames: readonly Frame[]): Frame[] {
  const sum = (some: readonly Frame[]) => some.reduce((all, { delay }) => all + delay, 0);
  const important = sum(frames.filter(({ isImportant }) => isImportant));
  const factor = (shown.together - important) / (sum(frames) - important);
  const kept: Frame[] = [];
  let waiting = 0;
  for (const frame of frames) {
    waiting += frame.isImportant ? 0 : frame.delay * factor;
    if (frame.isImportant) kept.push(frame);
    else if (waiting >= shown.shortest) {
      kept.push({ ...frame, delay: waiting });
      waiting = 0;
    }
  }
  return kept;
}

/** An animated GIF. A frame contains only the pixels that differ from the previous frame. */
function encode(frames: readonly Frame[]): Uint8Array {
  const { GIFEncoder, quantize, applyPalette } = gifenc;
  const encoder = GIFEncoder();
  const sample = Buffer.concat(frames.filter((_, at) => at % 6 === 0).map(({ pixels }) => pixels));
  const palette = quantize(sample, 63);
  const transparentIndex = palette.length;
  let before: Uint8Array | null = null;
  for (const { pixels, delay } of frames) {
    const indexed = applyPalette(pixels, palette);
    const drawn =
      before === null
        ? indexed
        : indexed.map((index, at) => (index === before?.[at] ? transparentIndex : index));
    encoder.writeFrame(drawn, size.width, size.height, {
      palette: [...palette, [0, 0, 0]],
      delay,
      transparent: before !== null,
      transparentIndex,
      dispose: 1,
    });
    before = indexed;
  }
  encoder.finish();
  return encoder.bytes();
}
