import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { openApi } from '../../../src/server/http/openapi.ts';
import { blockingReasonCodes } from '../../../src/wire/codes.ts';

const document = () => JSON.parse(JSON.stringify(openApi('/x', '1.2.3')));

describe('openApi', () => {
  it('is a valid OpenAPI 3.1 document', async () => {
    expect(document()).toMatchObject({
      openapi: expect.stringMatching(/^3\.1\./),
      info: { version: '1.2.3' },
    });
    expect(await new Validator().validate(document())).toEqual({ valid: true });
    const broken = document();
    broken.paths['/x'].get.responses = [];
    expect((await new Validator().validate(broken)).valid).toBe(false);
  });

  it('allows unknown members in responses, but not in requests', () => {
    const { schemas } = document().components;
    const requests = ['Start', 'RehearsalStart', 'Rollback', 'ChannelChoice', 'Skip', 'AutomaticChoice'];
    for (const [name, schema] of Object.entries(schemas)) {
      const isRequest = requests.includes(name);
      const text = JSON.stringify(schema);
      expect([name, text.includes('"additionalProperties":false')]).toEqual([name, isRequest]);
      if (!isRequest) expect(text, name).not.toMatch(/"(?:enum|const)":/);
    }
    expect(schemas.Reason.properties.code).toMatchObject({
      type: 'string',
      description: expect.stringMatching(/^One of `not-compose`, .*; later versions may add values$/),
      'x-extensible-enum': blockingReasonCodes,
    });
  });
});
