import type { Answer } from '../../wire/reader-answer.ts';
import type { UserStatus } from '../../wire/reader-shapes.ts';
import type { Status } from '../../wire/status.ts';
import type { Draft } from '../model/settings.ts';
import { texts } from '../texts.ts';
import { channelName } from '../views/format.ts';
import { channelFields, SettingsForm } from './settings-form.ts';
import type { Child } from './vnode.ts';

/** `<svc-update-channel>`: the choice of the release channel, for a settings page. */
export class SvcUpdateChannel extends SettingsForm {
  protected fields(): Child[] {
    return [channelFields()];
  }

  protected ask({ channel }: Status, draft: Draft): Promise<Answer<Status | UserStatus>> {
    return this.store.setChannel(draft.channel ?? channel);
  }

  protected told({ channel }: Status): string {
    return texts().saved(channelName(channel));
  }
}
