import { askEngine } from './engine-api.ts';

/** This machine's address in the engine's default network: containers reach it, other machines do not. */
export async function bridgeAddress(): Promise<string> {
  const { status, body } = await askEngine('GET', '/networks/bridge');
  const [first] = status === 200 ? (JSON.parse(body).IPAM?.Config ?? []) : [];
  if (typeof first?.Gateway !== 'string')
    throw new Error('the engine has no default network with an address of its own');
  return first.Gateway;
}
