/**
 * A wire between two BGP speakers that misbehaves: a TCP relay which splits,
 * stalls, half-closes or resets at a chosen octet of a chosen direction. It does
 * its harm to the first connection and is honest afterwards, so that a test can
 * demand that everything comes right in the end.
 */
import { createServer, type Server, Socket } from 'node:net';

export type Harm =
  | { kind: 'none' }
  /** Every octet in a write of its own. */
  | { kind: 'split' }
  | { kind: 'stall' | 'half-close' | 'reset'; direction: Direction; atOctet: number };

/** As the one who connects sees it. */
export type Direction = 'out' | 'in';

export class HostileWire {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #target: { host: string; port: number; localAddress: string };
  harm: Harm;
  connections = 0;
  /** Octets that have passed, by direction, over all connections. */
  readonly passed: Record<Direction, number> = { out: 0, in: 0 };

  constructor(target: { host: string; port: number; localAddress: string }, harm: Harm) {
    this.#target = target;
    this.harm = harm;
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (near) =>
      this.#relay(near),
    );
  }

  async listen(address: string): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, address, resolve));
    return (this.#server.address() as { port: number }).port;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #relay(near: Socket): void {
    const harm: Harm = this.harm;
    if (harm.kind !== 'split') this.harm = { kind: 'none' };
    this.connections++;
    const far = new Socket({ allowHalfOpen: true });
    far.setNoDelay(true);
    far.connect(this.#target);
    for (const socket of [near, far]) {
      this.#sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => this.#sockets.delete(socket));
    }
    this.#pipe(near, far, 'out', harm);
    this.#pipe(far, near, 'in', harm);
  }

  #pipe(from: Socket, to: Socket, direction: Direction, harm: Harm): void {
    let seen = 0;
    let isStalled = false;
    const isHarmed = 'direction' in harm && harm.direction === direction;
    const reset = () => {
      from.resetAndDestroy();
      to.resetAndDestroy();
    };
    const act = () => {
      if (harm.kind === 'reset') reset();
      if (harm.kind === 'half-close') to.end();
      isStalled = true;
    };
    from.on('data', (chunk: Buffer) => {
      if (isStalled) return;
      const room = isHarmed ? harm.atOctet - seen : chunk.length;
      const passed = chunk.subarray(0, room);
      seen += passed.length;
      this.passed[direction] += passed.length;
      if (harm.kind === 'split') for (const octet of passed) to.write(Uint8Array.of(octet));
      else if (passed.length > 0) to.write(passed);
      if (isHarmed && seen >= harm.atOctet) act();
    });
    from.on('end', () => {
      if (!isStalled) to.end();
    });
    from.on('close', () => {
      if (!isStalled || harm.kind === 'stall') to.destroy();
    });
    if (isHarmed && harm.atOctet === 0) from.once('connect', act);
    if (isHarmed && harm.atOctet === 0 && direction === 'out') setImmediate(act);
  }
}
