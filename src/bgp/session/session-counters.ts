/** Messages since the session was made; a reset of the connection does not reset them. */
export interface SessionCounters {
  established: number;
  sent: MessageCounters;
  received: MessageCounters;
  /** Faults in UPDATEs that RFC 7606 lets a session live through. */
  tolerated: number;
}

interface MessageCounters {
  updates: number;
  keepalives: number;
  notifications: number;
  refreshes: number;
}

export function newCounters(): SessionCounters {
  const none = () => ({ updates: 0, keepalives: 0, notifications: 0, refreshes: 0 });
  return { established: 0, sent: none(), received: none(), tolerated: 0 };
}
