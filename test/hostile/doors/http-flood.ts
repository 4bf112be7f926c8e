/** What every HTTP server of ours must bear. */
import type { Random } from '../../soak/bgp-codec/mutator.ts';
import { Asker } from '../ask.ts';
import { exchange, holdHalfRequests, type Place, rawRequest } from '../raw-http.ts';
import { inLanes, type Tally } from '../tally.ts';

export interface HttpFlood {
  place: Place;
  random: Random;
  count: number;
  paths: readonly string[];
  /** Lines that go with every request, each with its CRLF. */
  headers: string;
  /** Asked while connections are held that never finish their request. */
  probe: string;
}

const heldConnections = 200;

/** Malformed requests, none of which may get in or be answered with a fault of ours. */
export async function floodHttp(tally: Tally, flood: HttpFlood): Promise<void> {
  const { place, random, count, paths, headers, probe } = flood;
  const requests = Array.from({ length: count }, () => rawRequest(random, paths, headers));
  await inLanes(requests, 8, async (bytes) => {
    const statuses = await exchange(place, bytes);
    tally.count(statuses.length === 0 ? 'hung up' : String(statuses[0]));
    const bad = statuses.find((status) => status >= 500);
    if (bad !== undefined)
      tally.breaks(`${bad} for ${JSON.stringify(bytes.toString('latin1', 0, 200))}`);
  });
  const held = await holdHalfRequests(place, heldConnections);
  const asker = new Asker(place);
  const { status } = await asker.ask({ method: 'GET', path: probe });
  asker.close();
  held.release();
  tally.count(`${status} beside ${heldConnections} held connections`);
  if (status !== 200) tally.breaks(`${probe} gives ${status} beside held connections`);
}
