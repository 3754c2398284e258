// An official client that has no key: it prints the address at which a person
// consents and reads the query with which the browser came back. Then it calls,
// spoils its access token, which makes the library use the refresh token, and
// calls again; at the end it revokes what it has and is refused.
//
//   node authorize.mjs <v1|v2> <folder of node_modules> <endpoint> <callback> [document]

import { createInterface } from 'node:readline';

const [library, modules, endpoint, callback, document] = process.argv.slice(2);
const say = (step, data = {}) => console.log(JSON.stringify({ step, ...data }));
const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const root = `${modules}/@modelcontextprotocol`;

const kept = {};
const provider = {
  redirectUrl: callback,
  clientMetadataUrl: document || undefined,
  clientMetadata: { client_name: 'typescript', redirect_uris: [callback], token_endpoint_auth_method: 'none', grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] },
  state: () => 'a state',
  clientInformation: () => kept.client,
  saveClientInformation: (c) => { kept.client = c; },
  tokens: () => kept.tokens,
  saveTokens: (t) => { kept.tokens = t; },
  redirectToAuthorization: (url) => say('authorize', { text: String(url) }),
  saveCodeVerifier: (v) => { kept.verifier = v; },
  codeVerifier: () => kept.verifier,
  saveDiscoveryState: (d) => { kept.discovery = d; },
  discoveryState: () => kept.discovery,
};

async function libraryOf() {
  if (library === 'v1') {
    const { Client } = await import(`${root}/sdk/dist/esm/client/index.js`);
    const { StreamableHTTPClientTransport } = await import(`${root}/sdk/dist/esm/client/streamableHttp.js`);
    return { Client, StreamableHTTPClientTransport };
  }
  return import(`${root}/client/dist/index.mjs`);
}

async function greet({ Client, StreamableHTTPClientTransport }) {
  const transport = new StreamableHTTPClientTransport(new URL(endpoint), { authProvider: provider });
  const client = new Client({ name: 'authorize', version: '1.0.0' });
  try {
    await client.connect(transport);
  } catch (e) {
    if (kept.tokens) throw e;
    const { value } = await input.next();
    const back = new URLSearchParams(value);
    if (back.get('state') !== 'a state') throw new Error(`state ${back.get('state')}`);
    await transport.finishAuth(library === 'v1' ? back.get('code') : back);
    return greet({ Client, StreamableHTTPClientTransport });
  }
  const result = await client.callTool({ name: 'greet', arguments: { name: 'Ada' } });
  await client.close();
  return result.content.map((c) => c.text).join(' ');
}

async function main() {
  const parts = await libraryOf();
  say('call', { text: await greet(parts) });
  const before = kept.tokens.refresh_token;
  kept.tokens = { ...kept.tokens, access_token: 'spoiled' };
  say('refreshed', { text: await greet(parts) });
  if (kept.tokens.refresh_token === before) throw new Error('the refresh token did not rotate');
  const origin = new URL(endpoint).origin;
  await fetch(`${origin}/oauth/revoke`, { method: 'POST', body: new URLSearchParams({ token: kept.tokens.refresh_token }) });
  // The other server hears of it a moment later, and in 5 seconds at the most.
  const until = Date.now() + 5000;
  let refused;
  do {
    refused = await fetch(endpoint, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${kept.tokens.access_token}` },
      body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    });
  } while (refused.status === 200 && Date.now() < until);
  say('revoked', { error: refused.status === 401 ? refused.headers.get('www-authenticate') : '' });
}

main().then(() => process.exit(0), (e) => { say('failed', { error: String(e.stack ?? e) }); process.exit(1); });
