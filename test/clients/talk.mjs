// One conversation of an official client with the fixture agent. It prints one
// JSON line per step; after "opened" it waits for a line on its input, during
// which the server that opened the session is killed.
//
//   node talk.mjs <v1|v2> <legacy|auto> <folder of node_modules> <endpoint>

import { createInterface } from 'node:readline';

const [library, mode, modules, endpoint] = process.argv.slice(2);
const say = (step, data = {}) => console.log(JSON.stringify({ step, ...data }));
const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

// The two libraries differ in where things are and in who needs a schema.
async function connect() {
  const info = { name: `talk-${library}`, version: '1.0.0' };
  const capabilities = { elicitation: {}, roots: {} };
  const root = `${modules}/@modelcontextprotocol`;
  if (library === 'v1') {
    const { Client } = await import(`${root}/sdk/dist/esm/client/index.js`);
    const { StreamableHTTPClientTransport } = await import(`${root}/sdk/dist/esm/client/streamableHttp.js`);
    const { ElicitRequestSchema } = await import(`${root}/sdk/dist/esm/types.js`);
    const client = new Client(info, { capabilities });
    client.setRequestHandler(ElicitRequestSchema, elicited);
    const transport = new StreamableHTTPClientTransport(new URL(endpoint));
    await client.connect(transport);
    return { client, transport, call: (params, options) => client.callTool(params, undefined, options) };
  }
  const { Client, StreamableHTTPClientTransport } = await import(`${root}/client/dist/index.mjs`);
  const client = new Client(info, { capabilities, versionNegotiation: { mode } });
  client.setRequestHandler('elicitation/create', elicited);
  const transport = new StreamableHTTPClientTransport(new URL(endpoint));
  await client.connect(transport);
  return { client, transport, call: (params, options) => client.callTool(params, options) };
}

const elicited = async () => ({ action: 'accept', content: { response: 'from a person' } });
const text = (result) => result.content.map((c) => c.text ?? c.type).join(' ');

async function talk() {
  const { client, transport, call } = await connect();
  say('connected', { version: transport.protocolVersion ?? client.getNegotiatedProtocolVersion?.(), session: Boolean(transport.sessionId) });

  const { tools } = await client.listTools();
  say('list', { tools: tools.map((t) => t.name) });
  say('call', { text: text(await call({ name: 'greet', arguments: { name: 'Ada' } })) });

  const seen = [];
  const progress = await call({ name: 'test_tool_with_progress', arguments: {} }, { onprogress: (p) => seen.push(p.progress) });
  say('progress', { seen, text: text(progress) });

  const stop = new AbortController();
  const cancelled = call(
    { name: 'test_wait', arguments: {} },
    { signal: stop.signal, onprogress: () => stop.abort('enough') },
  );
  say('cancel', { error: await cancelled.then(() => '', (e) => String(e.message ?? e)) });

  const { contents } = await client.readResource({ uri: 'test://watched-resource' });
  say('resource', { text: contents[0].text });
  const prompt = await client.getPrompt({ name: 'test_prompt_with_arguments', arguments: { arg1: 'one', arg2: 'two' } });
  say('prompt', { text: prompt.messages[0].content.text });
  say('ask', { text: text(await call({ name: 'test_elicitation', arguments: { message: 'Well?' } })) });

  say('opened');
  await input.next();
  say('after', { text: text(await call({ name: 'greet', arguments: { name: 'again' } })), session: Boolean(transport.sessionId) });
  const again = await client.listTools();
  say('list again', { tools: again.tools.map((t) => t.name) });
  await client.close();
}

try {
  await talk();
} catch (e) {
  say('failed', { error: String(e?.stack ?? e) });
  process.exitCode = 1;
}
process.stdin.destroy();
