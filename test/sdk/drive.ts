// A program as somebody would write it with the SDK that a generator made from
// our document. It prints what it saw as JSON; sdk_test.go judges that.
import { client } from './sdk/client.gen';
import * as beeos from './sdk';

declare const process: { argv: string[]; exit(code: number): never };
const [server, key, agentId, receiver] = process.argv.slice(2);

client.setConfig({ baseUrl: server, auth: key, throwOnError: true });

// The document calls a stream of events a string, as the contract does; what
// comes are messages, and one word about the end.
type StreamEvent = Partial<beeos.MessageDto> & { reason?: string };

async function follow(stream: AsyncGenerator<unknown>, until: (e: StreamEvent) => boolean) {
    const seen = { text: '', types: [] as string[], end: '', last: '' };
    for await (const raw of stream) {
        const e = raw as StreamEvent;
        if (e.reason) seen.end = e.reason;
        else if (e.type === 'agent_reply_delta') {
            const soFar = (e.payload as { so_far?: boolean } | undefined)?.so_far;
            seen.text = soFar ? e.body ?? '' : seen.text + (e.body ?? '');
        } else {
            seen.types.push(e.type ?? '');
            seen.last = e.body ?? '';
        }
        if (until(e)) break;
    }
    return seen;
}

async function file() {
    const { data: made } = await beeos.presignFileUpload({ body: { filename: 'note.txt', content_type: 'text/plain' }, throwOnError: true });
    const { upload_url, file_id } = made.data!;
    const put = await fetch(upload_url, { method: 'PUT', headers: { 'Content-Type': 'text/plain' }, body: 'from the SDK' });
    const { data: meta } = await beeos.getFile({ path: { id: file_id }, throwOnError: true });
    const content = await (await fetch(meta.data!.download_url!)).text();
    return { id: file_id, put: put.status, size: meta.data!.size, content };
}

async function task(fileId: string) {
    const { data: made } = await beeos.createTask({
        path: { agentId }, body: { message: 'read this', attachments: [{ file_id: fileId }], metadata: { from: 'sdk' } }, throwOnError: true,
    });
    const path = { agentId, taskId: made.data.task_id };
    const { stream } = await beeos.streamTaskEvents({ path });
    const seen = await follow(stream, (e) => {
        if (e.type === 'agent.input_required') void beeos.continueTask({ path, body: { input: 'yes' }, throwOnError: true });
        return !!e.reason;
    });
    const { data: done } = await beeos.getTask({ path, throwOnError: true });
    const { data: list } = await beeos.listUserTasks({ query: { agent_id: agentId, state: 'closed' }, throwOnError: true });
    return {
        created: made.data.status, seen, status: done.data.status, text: done.data.result?.text,
        listed: list.data.tasks.some((t) => t.task_id === path.taskId),
    };
}

async function cancelled() {
    const { data: made } = await beeos.createTask({ path: { agentId }, body: { message: 'wait' }, throwOnError: true });
    const path = { agentId, taskId: made.data.task_id };
    const { data: hook } = await beeos.registerTaskWebhook({ path, body: { url: receiver, secret: '0123456789abcdef' }, throwOnError: true });
    const { data: gone } = await beeos.cancelTask({ path, body: { reason: 'enough' }, throwOnError: true });
    const hookPath = { ...path, webhookId: hook.data.webhook_id };
    let told = '';
    for (let tries = 0; tries < 300 && told !== 'canceled'; tries++) {
        await new Promise((later) => setTimeout(later, 100));
        told = await (await fetch(receiver + '?task=' + path.taskId)).text();
    }
    const { data: sent } = await beeos.listWebhookDeliveries({ path: hookPath, throwOnError: true });
    const { data: hooks } = await beeos.listTaskWebhooks({ path, throwOnError: true });
    await beeos.deleteTaskWebhook({ path: hookPath, throwOnError: true });
    return {
        status: gone.data.status, told, hooks: hooks.data.webhooks.length, deliveries: sent.data.deliveries.length > 0,
    };
}

async function conversation() {
    const { data: made } = await beeos.createConversation({ path: { agentId }, body: { title: 'talk' }, throwOnError: true });
    const path = { agentId, convId: made.data.conversation_id };
    const { stream } = await beeos.streamConversationEvents({ path });
    for (const message of ['one', 'two']) await beeos.sendConversationMessage({ path, body: { message }, throwOnError: true });
    let replies = 0;
    const seen = await follow(stream, (e) => e.type === 'agent_reply' && ++replies === 2);
    const { data: all } = await beeos.listConversationMessages({ path, throwOnError: true });
    await beeos.deleteConversation({ path, throwOnError: true });
    return { types: seen.types.sort(), stored: all.data.messages.length };
}

async function refused() {
    const { error, response } = await beeos.getTask({ path: { agentId, taskId: 'nonsense' }, throwOnError: false });
    return { status: response?.status, code: error?.error.code };
}

async function main() {
    const f = await file();
    const seen = { file: f, task: await task(f.id), cancelled: await cancelled(), conversation: await conversation(), refused: await refused() };
    console.log(JSON.stringify(seen));
    process.exit(0);
}

main().catch((e) => {
    console.error(e);
    process.exit(1);
});
