import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

/** A key and a certificate for 127.0.0.1 that it signs itself (X.509, RFC 5280), as PEM. */
export function selfSigned(): { key: string; cert: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const der = (tag: number, ...parts: Buffer[]): Buffer => {
    const content = Buffer.concat(parts);
    const { length } = content;
    const head =
      length < 128
        ? [tag, length]
        : length < 256
          ? [tag, 0x81, length]
          : [tag, 0x82, length >> 8, length & 255];
    return Buffer.concat([Buffer.from(head), content]);
  };
  const sequence = (...parts: Buffer[]) => der(0x30, ...parts);
  const identifier = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));
  const algorithm = sequence(identifier('2a8648ce3d040302')); // ecdsa-with-SHA256
  const name = sequence(der(0x31, sequence(identifier('550403'), der(0x0c, Buffer.from('engine')))));
  const time = (year: string) => der(0x17, Buffer.from(`${year}0101000000Z`));
  const address = sequence(der(0x87, Buffer.from([127, 0, 0, 1])));
  const toBeSigned = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ...[algorithm, name, sequence(time('20'), time('49')), name],
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(sequence(identifier('551d11'), der(0x04, address)))), // subjectAltName
  );
  const signature = der(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', toBeSigned, privateKey)]));
  const base64 = sequence(toBeSigned, algorithm, signature).toString('base64');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${base64.replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
  };
}
