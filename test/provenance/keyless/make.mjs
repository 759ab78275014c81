// Makes the fixtures of keyless signing: node make-keyless.mjs FOLDER, in a folder with @sigstore/mock and @sigstore/sign.
import { createHash, generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(join(process.cwd(), 'x.js'));
const mock = require('@sigstore/mock');
const { bundleToJSON } = require('@sigstore/bundle');
const { TrustedRoot } = require('@sigstore/protobuf-specs');
const { FulcioSigner, MessageSignatureBundleBuilder, RekorWitness } = require('@sigstore/sign');

const [folder] = process.argv.slice(2);
const artifact = readFileSync(join(folder, 'release.json'));
const keys = () => generateKeyPairSync('ec', { namedCurve: 'prime256v1' });

/** An authority of its own: what signs by its certificates, and the root by which that is believed. */
async function authority() {
  const ctlog = await mock.initializeCTLog(keys());
  const ca = await mock.initializeCA(keys(), ctlog);
  const tlog = await mock.initializeTLog('https://rekor.example.org', keys());
  const handlers = [mock.fulcioHandler(ca), mock.rekorHandler(tlog)];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request));
    const handler = handlers.find(({ path }) => request.url.startsWith(path));
    const answer = await handler.fn(body.toString());
    response.writeHead(answer.statusCode, { 'Content-Type': answer.contentType }).end(answer.response);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${server.address().port}`;
  const since = { start: new Date(Date.now() - 60_000) };
  const log = (one, keyId) => ({
    baseUrl: 'https://rekor.example.org',
    hashAlgorithm: 1,
    publicKey: { rawBytes: one.publicKey, keyDetails: 5, validFor: since },
    logId: { keyId },
    operator: 'example',
  });
  const root = TrustedRoot.toJSON({
    mediaType: 'application/vnd.dev.sigstore.trustedroot+json;version=0.1',
    tlogs: [log(tlog, createHash('sha256').update(tlog.publicKey).digest())],
    ctlogs: [log(ctlog, Buffer.from(ctlog.logID))],
    timestampAuthorities: [],
    certificateAuthorities: [
      {
        subject: { commonName: 'example', organization: 'example' },
        uri: 'https://fulcio.example.org',
        certChain: { certificates: [{ rawBytes: ca.rootCertificate }] },
        validFor: since,
        operator: 'example',
      },
    ],
  });
  const sign = async (claims) => {
    const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const token = `${part({ alg: 'none' })}.${part(claims)}.`;
    const signer = new FulcioSigner({
      fulcioBaseURL: url,
      identityProvider: { getToken: async () => token },
      retry: false,
    });
    const witnesses = [new RekorWitness({ rekorBaseURL: url, retry: false })];
    const bundler = new MessageSignatureBundleBuilder({ signer, witnesses });
    return bundleToJSON(await bundler.create({ data: artifact }));
  };
  return { root, sign, close: () => server.close() };
}

const workflow = 'https://github.com/acme/svc/.github/workflows/release.yml@refs/tags/v1.5.0';
const issuer = 'https://token.actions.githubusercontent.com';
const one = await authority();
const other = await authority();
const claims = { sub: workflow, iss: issuer };
const made = {
  'trusted-root.json': one.root,
  'good.json': await one.sign(claims),
  'other-workflow.json': await one.sign({ ...claims, sub: workflow.replace('acme/svc/', 'mallory/svc/') }),
  'other-issuer.json': await one.sign({ ...claims, iss: 'https://issuer.example.org' }),
  'other-authority.json': await other.sign(claims),
};
for (const [name, value] of Object.entries(made))
  writeFileSync(join(folder, name), `${JSON.stringify(value, null, 2)}\n`);
one.close();
other.close();
