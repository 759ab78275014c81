import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { openApi } from '../../../src/instance/http/openapi.ts';
import { reasonCodes } from '../../../src/wire/codes.ts';

const document = (path = '/x') => JSON.parse(JSON.stringify(openApi(path, '1.2.3')));

describe('openApi', () => {
  it('is a valid OpenAPI 3.1 document', async () => {
    expect(document().openapi).toMatch(/^3\.1\./);
    expect(await new Validator().validate(document())).toEqual({ valid: true });
    const broken = document();
    broken.paths['/x'].get.responses = [];
    expect((await new Validator().validate(broken)).valid).toBe(false);
  });

  it('says where, and of which version', () => {
    const { info, paths } = document('/api/v2/update');
    expect(info.version).toBe('1.2.3');
    expect(Object.keys(paths)).toEqual([
      '/api/v2/update',
      '/api/v2/update/progress',
      '/api/v2/update/history',
      '/api/v2/update/rollback',
      '/api/v2/update/channel',
      '/api/v2/update/skip',
      '/api/v2/update/automatic',
    ]);
  });

  it('lets answers grow, and requests not', () => {
    const { schemas } = document().components;
    const requests = ['Start', 'Rollback', 'ChannelChoice', 'Skip', 'AutomaticChoice'];
    for (const [name, schema] of Object.entries(schemas)) {
      const isRequest = requests.includes(name);
      const text = JSON.stringify(schema);
      expect([name, text.includes('"additionalProperties":false')]).toEqual([name, isRequest]);
      if (!isRequest) expect(text, name).not.toMatch(/"(?:enum|const)":/);
    }
    expect(schemas.Reason.properties.code).toMatchObject({
      type: 'string',
      description: expect.stringMatching(/^One of `not-compose`, .*; more may come$/),
      'x-extensible-enum': reasonCodes,
    });
  });
});
