/**
 * What a kubelet asks its runtime every few seconds: RuntimeService.Status of the CRI, over
 * gRPC. One call with an empty request, and an answer of a few fields: that needs no library.
 */
import { type ClientHttp2Session, connect } from 'node:http2';
import { createConnection } from 'node:net';

export interface NetworkReady {
  isReady: boolean;
  message: string;
}

export async function networkReady(socketPath: string): Promise<NetworkReady> {
  const session = connect('http://localhost', {
    createConnection: () => createConnection(socketPath),
  });
  try {
    const reply = await call(session, '/runtime.v1.RuntimeService/Status');
    // StatusResponse.status = 1, RuntimeStatus.conditions = 1; a condition: type, status, reason, message.
    const conditions = fields(reply, 1).flatMap((status) => fields(status, 1));
    const network = conditions.find((one) => text(one, 1) === 'NetworkReady');
    if (network === undefined) throw new Error('the runtime says nothing of NetworkReady');
    return { isReady: numbers(network, 2)[0] === 1, message: text(network, 4) };
  } finally {
    session.close();
  }
}

function call(session: ClientHttp2Session, path: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    session.on('error', reject);
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    const pieces: Buffer[] = [];
    let failure = '';
    const look = (headers: Record<string, unknown>) => {
      const code = headers['grpc-status'];
      if (code !== undefined && code !== '0') failure = `gRPC ${code}: ${headers['grpc-message']}`;
    };
    stream.on('response', look);
    stream.on('trailers', look);
    stream.on('data', (piece: Buffer) => pieces.push(piece));
    stream.on('error', reject);
    // One octet for compression, four for the length, the message.
    stream.on('end', () => {
      if (failure === '') resolve(Buffer.concat(pieces).subarray(5));
      else reject(new Error(failure));
    });
    stream.end(Buffer.alloc(5));
  });
}

interface Field {
  number: number;
  value: Buffer | number;
}

function* read(message: Buffer): Generator<Field> {
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const octet = message[at++]!;
      value += (octet & 0x7f) * 2 ** shift;
      if (octet < 0x80) return value;
    }
  };
  while (at < message.length) {
    const key = varint();
    const wire = key & 7;
    if (wire !== 0 && wire !== 2) throw new Error(`wire type ${wire} is not expected here`);
    const number = key >>> 3;
    const value = varint();
    if (wire === 0) {
      yield { number, value };
      continue;
    }
    yield { number, value: message.subarray(at, at + value) };
    at += value;
  }
}

function fields(message: Buffer, number: number): Buffer[] {
  return [...read(message)].flatMap((one) =>
    one.number === number && Buffer.isBuffer(one.value) ? [one.value] : [],
  );
}

function numbers(message: Buffer, number: number): number[] {
  return [...read(message)].flatMap((one) =>
    one.number === number && typeof one.value === 'number' ? [one.value] : [],
  );
}

const text = (message: Buffer, number: number) => fields(message, number)[0]?.toString() ?? '';
