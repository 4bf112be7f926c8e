/**
 * Node's own HTTP, not by `import`: an import of `node:http` names all that it
 * exports, WebSocket among it, and so loads a whole second HTTP client, ten
 * megabytes of memory in every process.
 */
export const { createServer, request } = process.getBuiltinModule('node:http');
