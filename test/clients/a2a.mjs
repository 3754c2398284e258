// One conversation of an official A2A client with an agent. It prints one JSON
// line per step.
//
//   node a2a.mjs <1.3|0.3> <JSONRPC|HTTP+JSON> <node_modules> <agent's URL> <key> <receiver of notifications>

import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [library, binding, modules, agent, key, receiver] = process.argv.slice(2);
const say = (step, data = {}) => console.log(JSON.stringify({ step, ...data }));
const load = (name) => import(pathToFileURL(createRequire(`${modules}/x.js`).resolve(name)).href);
const fetchImpl = (url, init = {}) => {
  const headers = new Headers(init.headers);
  headers.set('Authorization', `Bearer ${key}`);
  return fetch(url, { ...init, headers });
};
const id = () => crypto.randomUUID();

// grow puts the chunks of an artifact together; one that does not append begins anew.
const grow = (sofar, update, text) => (update.append ? sofar : '') + text;

async function newest() {
  const { ClientFactory, ClientFactoryOptions, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } = await load('@a2a-js/sdk/client');
  const { verifyAgentCardSignature, Role } = await load('@a2a-js/sdk');
  const client = await new ClientFactory(ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })], preferredTransports: [binding],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  })).createFromUrl(`${agent}/`);
  const message = (text, more = {}) => ({
    messageId: id(), contextId: '', taskId: '', role: Role?.ROLE_USER ?? 1, parts: [{ content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: '' }],
    metadata: undefined, extensions: [], referenceTaskIds: [], ...more,
  });
  const request = (text, more, conf) => ({ tenant: '', message: message(text, more), configuration: conf, metadata: undefined });
  const atOnce = { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately: true };
  const textOf = (task) => (task.artifacts ?? []).flatMap((a) => a.parts).map((p) => p.content?.value ?? '').join('');

  const card = await (await fetchImpl(`${agent}/.well-known/agent-card.json`)).json();
  await verifyAgentCardSignature(async (kid, jku) => (await (await fetch(jku)).json()).keys.find((k) => k.kid === kid))(card);
  say('card', { text: card.name });

  const sent = await client.sendMessage(request('hello there'));
  say('send', { text: textOf(sent), id: sent.id });

  let streamed = '', kinds = [];
  for await (const ev of client.sendMessageStream(request('one two three'))) {
    kinds.push(ev.payload.$case);
    if (ev.payload.$case === 'artifactUpdate') streamed = grow(streamed, ev.payload.value, ev.payload.value.artifact.parts[0].content.value);
  }
  say('stream', { text: streamed, kinds });

  const list = await client.listTasks({ tenant: '', contextId: '', status: 0, pageSize: 10, pageToken: '', historyLength: 0, statusTimestampAfter: undefined, includeArtifacts: true });
  say('list', { total: list.totalSize, text: textOf(list.tasks[0]) });

  const waiting = await client.sendMessage(request('wait', {}, atOnce));
  const cancelled = await client.cancelTask({ tenant: '', id: waiting.id, metadata: undefined });
  say('cancel', { state: cancelled.status.state });

  const paused = await client.sendMessage(request('pause'));
  // One that stays until the end is told, and one that is deleted before.
  for (const name of ['js', 'gone']) {
    await client.createTaskPushNotificationConfig({
      tenant: '', id: name, taskId: paused.id, url: `${receiver}/${name}`, token: '', authentication: { scheme: 'HMAC-SHA256', credentials: 'sixteen letters!' },
    });
  }
  await client.deleteTaskPushNotificationConfig({ tenant: '', taskId: paused.id, id: 'gone' });
  const configs = await client.listTaskPushNotificationConfig({ tenant: '', taskId: paused.id, pageSize: 10, pageToken: '' });
  say('push', { total: configs.configs.length, id: configs.configs[0].id });
  const events = client.resubscribeTask({ tenant: '', id: paused.id });
  const first = await events.next();
  const answer = client.sendMessage(request('blue', { taskId: paused.id }));
  let last = first.value;
  for await (const ev of events) last = ev;
  say('resubscribe', { kinds: [first.value.payload.$case], state: last.payload.value.status.state, text: textOf(await answer) });
  try {
    await client.getTask({ tenant: '', id: id(), historyLength: 0 });
  } catch (err) {
    say('missing', { error: err.constructor.name });
  }
}

async function older() {
  const { ClientFactory, ClientFactoryOptions, DefaultAgentCardResolver, JsonRpcTransportFactory, RestTransportFactory } = await load('a2a-js-sdk-03/client');
  const Transport = binding === 'JSONRPC' ? JsonRpcTransportFactory : RestTransportFactory;
  const client = await new ClientFactory(ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [new Transport({ fetchImpl })], preferredTransports: [binding], cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  })).createFromUrl(`${agent}/`);
  const message = (text, more = {}) => ({ message: { kind: 'message', messageId: id(), role: 'user', parts: [{ kind: 'text', text }], ...more } });
  const textOf = (task) => (task.artifacts ?? []).flatMap((a) => a.parts).map((p) => p.text ?? '').join('');
  say('card', { text: (await client.getAgentCard()).name });
  const sent = await client.sendMessage(message('hello there'));
  say('send', { text: textOf(sent), id: sent.id });
  let streamed = '', kinds = [];
  for await (const ev of client.sendMessageStream(message('one two three'))) {
    kinds.push(ev.kind);
    if (ev.kind === 'artifact-update') streamed = grow(streamed, ev, ev.artifact.parts[0].text);
  }
  say('stream', { text: streamed, kinds });
  const waiting = await client.sendMessage({ ...message('wait'), configuration: { blocking: false } });
  const cancelled = await client.cancelTask({ id: waiting.id });
  say('cancel', { state: cancelled.status.state });
  const paused = await client.sendMessage({ ...message('pause'), configuration: { blocking: true } });
  await client.setTaskPushNotificationConfig({ taskId: paused.id, pushNotificationConfig: { id: 'js', url: receiver, authentication: { schemes: ['HMAC-SHA256'], credentials: 'sixteen letters!' } } });
  const configs = await client.listTaskPushNotificationConfig({ id: paused.id });
  say('push', { total: configs.length, id: configs[0].pushNotificationConfig.id });
  const events = client.resubscribeTask({ id: paused.id });
  const first = await events.next();
  const answer = client.sendMessage(message('blue', { taskId: paused.id }));
  let last = first.value;
  for await (const ev of events) last = ev;
  say('resubscribe', { kinds: [first.value.kind], state: last.status.state, text: textOf(await answer) });
  try {
    await client.getTask({ id: id() });
  } catch (err) {
    say('missing', { error: err.constructor.name });
  }
}

(library === '0.3' ? older() : newest()).catch((err) => {
  say('failed', { error: `${err.stack ?? err}` });
  process.exitCode = 1;
});
