/**
 * Deleting interfaces. The kernel takes an interface away within about 4 ms,
 * and then sits in the same call for another 15 until every processor has let go
 * of its memory (rcu_barrier). Two consequences:
 *
 * - An interface is answered for as deleted once it cannot be found any more,
 *   neither it nor its other end nor their routes; nobody waits for memory.
 * - The call keeps one of Node's four worker threads. At most two run at a
 *   time, so that files and other requests find a thread; whoever comes
 *   meanwhile travels together with the next. They are gathered in an interface
 *   group, and a group is deleted at the price of one.
 */
import { findLink } from './find-link.ts';
import { deleteGroup, deleteLink, setGroup } from './link-messages.ts';
import type { SocketPool } from './socket.ts';

const maxFlights = 2;
/** Group numbers are anybody's; these are far from the small ones that people choose. */
const firstGroup = 0xcad00000;
const lookAgainMs = 1;

interface Ticket {
  name: string;
  resolve(existed: boolean): void;
  reject(error: unknown): void;
}

export class LinkRemover {
  readonly #sockets: SocketPool;
  /** A second wish for the same name shares the first one's answer: it must not meet a successor. */
  readonly #wishes = new Map<string, Promise<boolean>>();
  #waiting: Ticket[] = [];
  #flights = 0;
  #group = 0;

  constructor(sockets: SocketPool) {
    this.#sockets = sockets;
  }

  /** Whether there was one. */
  remove(name: string): Promise<boolean> {
    const known = this.#wishes.get(name);
    if (known) return known;
    const wish = new Promise<boolean>((resolve, reject) => {
      this.#waiting.push({ name, resolve, reject });
    });
    this.#wishes.set(name, wish);
    const forget = () => this.#wishes.delete(name);
    wish.then(forget, forget);
    void this.#depart();
    return wish;
  }

  async #depart(): Promise<void> {
    if (this.#flights === maxFlights) return;
    this.#flights++;
    while (this.#waiting.length > 0) {
      const tickets = this.#waiting;
      this.#waiting = [];
      try {
        if (tickets.length === 1) await this.#removeOne(tickets[0] as Ticket);
        else await this.#removeMany(tickets);
      } catch (error) {
        // Those that were answered before stay answered.
        for (const ticket of tickets) ticket.reject(error);
      }
    }
    this.#flights--;
  }

  #removeOne(ticket: Ticket): Promise<void> {
    return this.#sockets.use(async (socket) => {
      // Looked for first, so that "cannot be found" afterwards means "deleted".
      const link = await findLink(socket, ticket.name);
      if (!link) return ticket.resolve(false);
      const deletion = socket.exchange([deleteLink(link)]);
      await this.#answerWhenGone(deletion, ticket.name, () => ticket.resolve(true));
      const [failure] = await deletion;
      // Gone between the look and the deletion, with its pod's namespace.
      ticket.resolve(failure === undefined);
    });
  }

  #removeMany(tickets: readonly Ticket[]): Promise<void> {
    const group = firstGroup + (this.#group++ & 0xffff);
    return this.#sockets.use(async (socket) => {
      const requests = tickets.map(({ name }) => setGroup(name, group));
      const failures = await socket.exchange(requests);
      const missing = new Set(failures.map(({ request }) => requests.indexOf(request)));
      const there = tickets.filter((ticket, index) => {
        if (missing.has(index)) ticket.resolve(false);
        return !missing.has(index);
      });
      const [first] = there;
      if (first === undefined) return;
      // All of a group go in one step: where the first is gone, all are.
      const deletion = socket.exchange([deleteGroup(group)]);
      await this.#answerWhenGone(deletion, first.name, () => {
        for (const ticket of there) ticket.resolve(true);
      });
      const [failure] = await deletion;
      if (failure === undefined) {
        for (const ticket of there) ticket.resolve(true);
        return;
      }
      for (const ticket of there) {
        const link = await findLink(socket, ticket.name);
        const [refusal] = link ? await socket.exchange([deleteLink(link)]) : [];
        ticket.resolve(link !== undefined && refusal === undefined);
      }
    });
  }

  async #answerWhenGone(
    deletion: Promise<unknown>,
    name: string,
    answer: () => void,
  ): Promise<void> {
    let isOver = false;
    const over = () => {
      isOver = true;
    };
    deletion.then(over, over);
    try {
      await this.#sockets.use(async (socket) => {
        while (!isOver) {
          // Waits for the lock that the deletion holds, so one look is enough as a rule.
          if (!(await findLink(socket, name))) return answer();
          await new Promise((resolve) => setTimeout(resolve, lookAgainMs));
        }
      });
    } catch {
      // Not even a look: the deletion's own answer decides, and its socket is busy until then.
    }
  }
}
