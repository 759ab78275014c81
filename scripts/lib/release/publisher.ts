// Changes, signs and writes the channel file of a product. scripts/publisher prints the usage.
import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { channelOf } from '../../../src/core/release/channel.ts';
import {
  type ChannelCommand,
  changeChannel,
  describeChange,
  firstChannelFile,
  usualDays,
} from './change-channel.ts';
import { channelBytes, readCurrent, writeChannel } from './channel-files.ts';
import type { Facts } from './describe.ts';
import { signAsWorkflow, signerWith, trustOf } from './signer.ts';

/** What each command accepts besides the options of all commands. */
const accepted: Record<ChannelCommand['name'], { words: readonly string[]; options: readonly string[] }> = {
  urgent: { words: ['VERSION'], options: ['why', 'withdraw'] },
  recall: { words: ['VERSION'], options: ['why', 'url', 'withdraw'] },
  rollout: { words: ['VERSION', 'PERCENT'], options: ['withdraw'] },
  renew: { words: [], options: [] },
};

try {
  await main();
} catch (error) {
  console.error(`publisher: ${(error as Error).message}`);
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      why: { type: 'string' },
      url: { type: 'string' },
      withdraw: { type: 'boolean', default: false },
      days: { type: 'string', default: String(usualDays) },
      out: { type: 'string' },
      recipe: { type: 'string' },
      key: { type: 'string' },
      keyless: { type: 'boolean', default: false },
      trust: { type: 'string' },
    },
  });
  const command = commandOf(positionals, values);
  const { out } = values;
  if (out === undefined) throw new Error('--out FOLDER is missing: channel.json is read and written there');
  if (values.key !== undefined && values.keyless)
    throw new Error('--key and --keyless cannot be used together');

  const signer = values.key === undefined ? null : await signerWith(values.key);
  const trust = await trustOf(values.trust, signer?.key ?? null);
  const path = join(out, 'channel.json');
  const published = existsSync(path) ? await readCurrent(path, trust) : null;
  const { product, channel } = await productOf(values.recipe, command.version);
  const current = published ?? firstChannelFile(product, channel);
  if (values.recipe !== undefined && (current.product !== product || current.channel !== channel))
    throw new Error(
      `${path} is for ${current.product} (${current.channel}), but the recipe is for ${product} (${channel})`,
    );

  const next = changeChannel(current, command, { now: new Date(), days: Number(values.days) });
  channelBytes(next);
  console.log(`${published === null ? 'new channel file' : path} for ${next.product} (${next.channel}):`);
  for (const line of describeChange(published, next)) console.log(`  ${line}`);
  const sign = signer === null ? (values.keyless ? signAsWorkflow : null) : signer.sign;
  if (sign === null) throw new Error('nothing was signed or written: use --key FILE or --keyless');
  await mkdir(out, { recursive: true });
  await writeChannel(out, next, sign, trust);
  if (trust === null) console.log('signed but not verified: without a key, --trust FILE is needed for that');
  console.log(`signed: ${path} and ${path}.sigstore.json`);
}

/** @throws Error if the command line is invalid */
function commandOf(
  [name = '', ...words]: readonly string[],
  values: Omit<ChannelCommand, 'name' | 'version' | 'percent'>,
): ChannelCommand {
  if (!isCommand(name)) throw new Error(`the first argument must be ${Object.keys(accepted).join(', ')}`);
  const { words: expected, options } = accepted[name];
  for (const option of ['why', 'url', 'withdraw'] as const)
    if (values[option] && !options.includes(option)) throw new Error(`${name} does not accept --${option}`);
  const isWhole = values.withdraw && name !== 'recall' ? words.length <= 1 : words.length === expected.length;
  if (!isWhole) throw new Error(`use ${[name, ...expected].join(' ')}; see --help`);
  const [version, percent] = words;
  return { name, version, percent, why: values.why, url: values.url, withdraw: values.withdraw };
}

function isCommand(name: string): name is ChannelCommand['name'] {
  return Object.hasOwn(accepted, name);
}

/** From the recipe of another product; otherwise this project's product, with the channel of the version. */
async function productOf(
  recipe: string | undefined,
  version = '',
): Promise<Pick<Facts, 'product' | 'channel'>> {
  if (recipe !== undefined) return JSON.parse(await readFile(recipe, 'utf8'));
  return { product: 'svc', channel: channelOf(version) ?? 'stable' };
}
