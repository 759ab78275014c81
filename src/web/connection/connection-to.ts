import { Connection } from './connection.ts';

const connections = new Map<string, Connection>();

/** The one connection of this page to an address, which has no slash at its end. */
export function connectionTo(address: string): Connection {
  const connection = connections.get(address) ?? new Connection(address);
  connections.set(address, connection);
  return connection;
}
