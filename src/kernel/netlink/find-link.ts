/** One interface by its name, as it is now. */
import { isErrno } from '../kernel-error.ts';
import type { Link } from '../link.ts';
import { getLink, readLink } from './link-messages.ts';
import type { NetlinkSocket } from './socket.ts';

export async function needLink(socket: NetlinkSocket, name: string): Promise<Link> {
  return readLink(await socket.get(getLink(name)));
}

export async function findLink(socket: NetlinkSocket, name: string): Promise<Link | undefined> {
  try {
    return await needLink(socket, name);
  } catch (error) {
    if (isErrno(error, 'ENODEV')) return undefined;
    throw error;
  }
}
