// A call that takes longer than an official client waits by default: 60 seconds
// in all. It prints one JSON line per step; after "handed over" it waits for a
// line on its input, during which the server that took the call is killed.
//
//   node long.mjs <v1|v2> <legacy|auto> <folder of node_modules> <endpoint>

import { createInterface } from 'node:readline';

const [library, mode, modules, endpoint] = process.argv.slice(2);
const say = (step, data = {}) => console.log(JSON.stringify({ step, ...data }));
const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const text = (result) => result.content.map((c) => c.text ?? c.type).join(' ');

async function connect() {
  const info = { name: `long-${library}`, version: '1.0.0' };
  const root = `${modules}/@modelcontextprotocol`;
  const v1 = library === 'v1';
  const { Client } = await import(v1 ? `${root}/sdk/dist/esm/client/index.js` : `${root}/client/dist/index.mjs`);
  const { StreamableHTTPClientTransport } = await import(
    v1 ? `${root}/sdk/dist/esm/client/streamableHttp.js` : `${root}/client/dist/index.mjs`
  );
  const client = new Client(info, v1 ? {} : { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(endpoint)));
  return client;
}

try {
  const client = await connect();
  const { tools } = await client.listTools(); // the client now checks results against their schemas
  say('list', { tools: tools.map((t) => t.name) });
  let result = await client.callTool({ name: 'slow_compute', arguments: { seconds: 61, label: 'long' } });
  const task = result._meta?.['beeos/task'];
  say('handed over', { text: task?.task_id ?? '', error: result.isError ? text(result) : '' });
  await input.next();
  do {
    result = await client.callTool({ name: 'task_result', arguments: { task_id: task.task_id } });
  } while (result._meta?.['beeos/task']?.status === 'working');
  say('result', { text: text(result), error: result.isError ? 'isError' : '' });
  await client.close();
} catch (e) {
  say('failed', { error: String(e?.stack ?? e) });
  process.exitCode = 1;
}
process.stdin.destroy();
