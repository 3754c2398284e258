// MCP through the JavaScript libraries that people build agents with: list,
// call, progress, and what a wrong key is told. It prints one JSON line per step.
//
//   node --input-type=module - <client> <endpoint> <key> < mcp_clients.mjs
//
// in the folder of the packages. Each client below is connected as its manual
// says, and returns the names of the tools, a function that calls one, and one
// that ends the connection.

const [name, endpoint, key] = process.argv.slice(2);
const say = (step, data = {}) => console.log(JSON.stringify({ step, ...data }));
const bearer = (key) => ({ Authorization: `Bearer ${key}` });
const text = (result) => result.content.map((c) => c.text ?? c.type).join('');

const clients = {
  async aisdk(key) {
    const { createMCPClient } = await import('@ai-sdk/mcp');
    const client = await createMCPClient({ transport: { type: 'http', url: endpoint, headers: bearer(key) } });
    const tools = await client.tools();
    const call = async (tool, args) => text(await tools[tool].execute(args, { toolCallId: '1', messages: [] }));
    return { names: Object.keys(tools), call, close: () => client.close() };
  },

  async mcporter(key) {
    const { createRuntime } = await import('mcporter');
    const command = { kind: 'http', url: new URL(endpoint), headers: bearer(key) };
    const runtime = await createRuntime({ servers: [{ name: 'helper', command }] });
    // Otherwise a key that is refused opens a browser to sign in.
    const quiet = { disableOAuth: true };
    const tools = await runtime.listTools('helper', quiet);
    const call = async (tool, args) => text(await runtime.callTool('helper', tool, { args, ...quiet }));
    return { names: tools.map((t) => t.name), call, close: () => runtime.close() };
  },

  async mastra(key, seen) {
    const { MCPClient } = await import('@mastra/mcp');
    const client = new MCPClient({ id: key, servers: { helper: { url: new URL(endpoint), requestInit: { headers: bearer(key) }, enableProgressTracking: true } } });
    const { toolsets, errors } = await client.listToolsetsWithErrors();
    if (Object.keys(errors).length > 0) throw new Error(JSON.stringify(errors));
    await client.progress.onUpdate('helper', ({ progress }) => seen.push(progress));
    const tools = toolsets.helper;
    const call = async (tool, args) => text(await tools[tool].execute(args));
    return { names: Object.keys(tools), call, close: () => client.disconnect() };
  },

  async mcpuse(key, seen) {
    const { MCPClient } = await import('mcp-use/client');
    const client = new MCPClient({ mcpServers: { helper: { url: endpoint, headers: bearer(key) } } });
    const session = await client.createSession('helper');
    const call = async (tool, args) => text(await session.callTool(tool, args, { onprogress: ({ progress }) => seen.push(progress) }));
    return { names: (await session.listTools()).map((t) => t.name), call, close: () => client.closeAllSessions() };
  },
};

try {
  const seen = [];
  const { names, call, close } = await clients[name](key, seen);
  say('list', { tools: names });
  say('greet', { text: await call('greet', { name: 'Ada' }) });
  say('ping', { text: await call('ping', {}) });
  say('count', { text: await call('count', {}), seen });
  await close();
  const refused = await clients[name]('wrong', []).then(() => '', (e) => e);
  say('refused', { error: [refused, refused.cause].filter(Boolean).map((e) => String(e.message ?? e)).join('\n') });
} catch (e) {
  console.error(e);
  process.exitCode = 1;
}
process.exit(); // some keep a connection open
