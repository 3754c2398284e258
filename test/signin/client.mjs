// An official client that does as it is told, with its own sign-in: it reads a
// JSON line per command and answers with one. Between, it says which address a
// person is to open. It keeps what it is given in memory.
//
//   node client.mjs <v1|v2> <folder of node_modules> <name> [document]

import { createServer } from 'node:http';
import { createInterface } from 'node:readline';

const [library, modules, name, document] = process.argv.slice(2);
const root = `${modules}/@modelcontextprotocol`;
const say = (data) => console.log(JSON.stringify(data));

// The redirect: a port of its own, and the query of whoever comes.
let came;
const back = createServer((request, response) => {
  const url = new URL(request.url, 'http://127.0.0.1');
  response.end('You can close this window.');
  if (url.pathname === '/callback') came?.(url.searchParams);
});
await new Promise((resolve) => back.listen(0, '127.0.0.1', resolve));
const redirect = `http://127.0.0.1:${back.address().port}/callback`;

const kept = {};
const provider = {
  redirectUrl: redirect,
  clientMetadataUrl: document || undefined,
  clientMetadata: {
    client_name: name, redirect_uris: [redirect], token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'],
  },
  state: () => (kept.state = crypto.randomUUID()),
  clientInformation: () => kept.client,
  saveClientInformation: (client) => { kept.client = client; },
  tokens: () => kept.tokens,
  saveTokens: (tokens) => { kept.tokens = tokens; },
  redirectToAuthorization: (url) => say({ open: String(url) }),
  saveCodeVerifier: (verifier) => { kept.verifier = verifier; },
  codeVerifier: () => kept.verifier,
  saveDiscoveryState: (state) => { kept.discovery = state; },
  discoveryState: () => kept.discovery,
  invalidateCredentials: (scope) => { if (scope === 'all' || scope === 'tokens') delete kept.tokens; },
};

async function parts() {
  if (library === 'v2') return import(`${root}/client/dist/index.mjs`);
  const { Client } = await import(`${root}/sdk/dist/esm/client/index.js`);
  const { StreamableHTTPClientTransport } = await import(`${root}/sdk/dist/esm/client/streamableHttp.js`);
  return { Client, StreamableHTTPClientTransport };
}
const { Client, StreamableHTTPClientTransport } = await parts();

let client;
async function open(endpoint) {
  const transport = new StreamableHTTPClientTransport(new URL(endpoint), { authProvider: provider });
  client = new Client({ name, version: '1.0.0' });
  await client.connect(transport);
}

const commands = {
  async connect({ endpoint }) {
    const answer = new Promise((resolve) => { came = resolve; });
    const transport = new StreamableHTTPClientTransport(new URL(endpoint), { authProvider: provider });
    try {
      await new Client({ name, version: '1.0.0' }).connect(transport);
      throw new Error('connected without a token');
    } catch (e) {
      if (e.name !== 'UnauthorizedError' && e.constructor.name !== 'UnauthorizedError') throw e;
    }
    const query = await answer;
    if (query.get('state') !== kept.state) throw new Error(`state ${query.get('state')}`);
    if (query.get('error')) throw new Error(query.get('error'));
    await transport.finishAuth(library === 'v1' ? query.get('code') : query);
    await open(endpoint);
  },
  tools: async () => ({ tools: (await client.listTools()).tools.map((tool) => tool.name) }),
  async call({ tool, message }) {
    const result = await client.callTool({ name: tool, arguments: { message } });
    if (result.isError) throw new Error(JSON.stringify(result));
    return { text: result.content.map((part) => part.text).join('') };
  },
  token: () => ({ text: kept.tokens?.access_token ?? '' }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  try {
    say({ done: true, ...(await commands[command.do](command)) });
  } catch (e) {
    say({ done: true, error: String(e.stack ?? e) });
  }
}
process.exit(0);
