import { debianImage } from './debian-image.ts';

/** Redis 7.0 with its configuration in the volume, so that CONFIG REWRITE is permanent. */
export const redisImage = (): Promise<string> =>
  debianImage({
    name: 'redis:7.0',
    suite: 'bookworm',
    packages:
      'redis-server redis-tools libatomic1 libc6 libcap2 libgcc-s1 libgcrypt20 libgpg-error0 libjemalloc2 liblz4-1 liblzf1 liblzma5 libssl3 libstdc++6 libsystemd0 libzstd1',
    entry: 'redis-entry.sh',
    prepare: 'mkdir -p "$root"/data',
    user: 'redis',
    changes: ['ENV PATH=/usr/bin:/bin', 'VOLUME /data', 'EXPOSE 6379', 'CMD ["redis-server"]'],
  });
