// An agent on the A2A project's JavaScript server. It prints its address, then
// one line per thing that a test waits for.
//
//   node peer.mjs <1.3|0.3> <node_modules>

import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [library, modules] = process.argv.slice(2);
const old = library === '0.3';
const load = (name) => import(pathToFileURL(createRequire(`${modules}/x.js`).resolve(name)).href);
const sdk = await load(old ? 'a2a-js-sdk-03/server' : '@a2a-js/sdk/server');
const { DefaultRequestHandler, InMemoryTaskStore, JsonRpcTransportHandler, ServerCallContext, AgentEvent } = sdk;
const id = () => crypto.randomUUID();

// What the executor says, in either dialect.
const textIn = (p) => (old ? p.text : p.content.value);
const text = (s) => (old ? { kind: 'text', text: s } : { content: { $case: 'text', value: s }, metadata: undefined, filename: '', mediaType: '' });
const bytes = (name, data) => (old
  ? { kind: 'file', file: { bytes: Buffer.from(data).toString('base64'), name, mimeType: 'application/octet-stream' } }
  : { content: { $case: 'raw', value: Buffer.from(data) }, metadata: undefined, filename: name, mediaType: 'application/octet-stream' });
const states = old
  ? { submitted: 'submitted', working: 'working', input: 'input-required', completed: 'completed', canceled: 'canceled' }
  : { submitted: 1, working: 2, completed: 3, canceled: 5, input: 6 };
const message = (c, parts) => ({ ...(old ? { kind: 'message' } : {}), messageId: id(), role: old ? 'agent' : 2, parts, ...c, metadata: undefined, extensions: [], referenceTaskIds: [] });
const say = {
  task: (c) => old ? { kind: 'task', id: c.taskId, contextId: c.contextId, status: { state: states.submitted }, history: [] }
    : AgentEvent.task({ id: c.taskId, contextId: c.contextId, status: { state: states.submitted, message: undefined, timestamp: undefined }, artifacts: [], history: [], metadata: undefined }),
  status: (c, state, parts) => {
    const status = { state: states[state], message: parts && message(c, parts), timestamp: new Date().toISOString() };
    return old ? { kind: 'status-update', ...c, status, final: state !== 'working' } : AgentEvent.statusUpdate({ ...c, status, metadata: undefined });
  },
  artifact: (c, artifactId, append, parts) => {
    const ev = { ...c, artifact: { artifactId, name: '', description: '', parts, metadata: undefined, extensions: [] }, append, lastChunk: false, metadata: undefined };
    return old ? { kind: 'artifact-update', ...ev } : AgentEvent.artifactUpdate(ev);
  },
  words: (c, s) => {
    const m = message({ contextId: c.contextId, ...(old ? {} : { taskId: '' }) }, [text(s)]);
    return old ? m : AgentEvent.message(m);
  },
};

const waiting = new Map();
const executor = {
  async execute(request, bus) {
    const c = { taskId: request.taskId, contextId: request.contextId };
    const asked = textIn(request.userMessage.parts[0]);
    const tell = (ev) => bus.publish(ev);
    if (request.task) {
      if (!old) tell(AgentEvent.task(request.task)); // as it stands: still waiting
      tell(say.artifact(c, 'a', false, [text(`You chose ${asked}`)]));
      tell(say.status(c, 'completed'));
      return bus.finished();
    }
    if (asked === 'message') {
      tell(say.words(c, 'just words'));
      return bus.finished();
    }
    tell(say.task(c));
    tell(say.status(c, 'working'));
    switch (asked) {
      case 'pause':
        tell(say.status(c, 'input', [text('Which colour?')]));
        return bus.finished();
      case 'wait':
        console.log('begun');
        return new Promise((stop) => waiting.set(c.taskId, stop));
    }
    tell(say.artifact(c, 'a', false, [text('you said: ')]));
    tell(say.artifact(c, 'a', true, [text(`${asked} in ${c.contextId}`)]));
    tell(say.artifact(c, 'b', false, [bytes('b.bin', 'bytes')]));
    tell(say.status(c, 'completed'));
    return bus.finished();
  },
  async cancelTask(taskId, bus) {
    console.log('cancelled');
    bus.publish(say.status({ taskId, contextId: '' }, 'canceled'));
    bus.finished();
    waiting.get(taskId)?.();
  },
};

const server = createServer(async (req, res) => {
  if (req.method === 'GET') {
    const known = req.url === '/.well-known/agent-card.json';
    res.writeHead(known ? 200 : 404, { 'Content-Type': 'application/json' });
    return res.end(known ? JSON.stringify(card) : '{}');
  }
  let body = '';
  for await (const chunk of req) body += chunk;
  const context = old ? new ServerCallContext() : new ServerCallContext({ requestedVersion: req.headers['a2a-version'] });
  const answer = await rpc.handle(body, context);
  if (typeof answer?.[Symbol.asyncIterator] !== 'function') {
    res.writeHead(200, { 'Content-Type': 'application/json' });
    return res.end(JSON.stringify(answer));
  }
  res.writeHead(200, { 'Content-Type': 'text/event-stream' });
  for await (const ev of answer) res.write(`data: ${JSON.stringify(ev)}\n\n`);
  return res.end();
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const url = `http://127.0.0.1:${server.address().port}/`;
const card = old
  ? { name: 'js', description: 'By the SDK.', version: '1', protocolVersion: '0.3.0', url, preferredTransport: 'JSONRPC', capabilities: { streaming: true }, defaultInputModes: ['text'], defaultOutputModes: ['text'], skills: [] }
  : { name: 'js', description: 'By the SDK.', version: '1', supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' }], capabilities: { streaming: true, extensions: [] },
    defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'], skills: [], securitySchemes: {}, securityRequirements: [], signatures: [] };
const rpc = new JsonRpcTransportHandler(new DefaultRequestHandler(card, new InMemoryTaskStore(), executor));
console.log(url);
