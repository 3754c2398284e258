"""The A2A project's own Python client, of today or of 0.3, with nothing but an agent's address and a key.

Arguments: library (1 or 0.3), binding (JSONRPC or HTTP+JSON), agent, key. Writes a JSON object per step.
"""
import asyncio
import json
import sys
import uuid

import httpx

library, binding, agent, key = sys.argv[1:]
bearer = {'Authorization': f'Bearer {key}'}


def say(step, **more):
    print(json.dumps({'step': step, **more}), flush=True)


async def refused(read_card):
    """What a wrong key is told."""
    async with httpx.AsyncClient(headers={'Authorization': 'Bearer wrong'}) as stranger:
        try:
            await read_card(stranger)
            say('refused')
        except Exception as error:
            say('refused', error=str(error))


async def older(http):
    from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
    from a2a.types import (DataPart, FilePart, FileWithBytes, Message, Part, PushNotificationConfig, Role, TaskIdParams,
                           TaskPushNotificationConfig, TaskQueryParams, TextPart, GetTaskPushNotificationConfigParams)

    card = await A2ACardResolver(http, agent).get_agent_card()
    say('card', text=card.name, kinds=[i.transport for i in card.additional_interfaces])

    def factory(**more):
        return ClientFactory(ClientConfig(httpx_client=http, supported_transports=[binding], use_client_preference=True, **more)).create(card)

    def message(text, *parts, **more):
        return Message(message_id=str(uuid.uuid4()), role=Role.user, parts=[Part(root=TextPart(text=text)), *parts], **more)

    def text_of(task):
        return ''.join(p.root.text for a in task.artifacts or [] for p in a.parts if p.root.kind == 'text')

    async def send(client, m):
        async for event in client.send_message(m):
            last = event
        return last[0]

    whole, streaming, polling = factory(streaming=False), factory(), factory(streaming=False, polling=True)
    sent = await send(whole, message('hello there'))
    say('send', text=text_of(sent), id=sent.id)
    kinds = []
    async for task, update in streaming.send_message(message('one two three')):
        kinds.append(update.kind if update else 'task')
    say('stream', text=text_of(task), kinds=kinds, state=task.status.state)
    got = await whole.get_task(TaskQueryParams(id=sent.id))
    say('get', text=text_of(got), total=len(got.history))
    parts = [Part(root=DataPart(data={'n': 1})), Part(root=FilePart(file=FileWithBytes(bytes='aGk=', mime_type='text/plain', name='hi.txt')))]
    say('parts', text=text_of(await send(whole, message('meta', *parts))))
    paused = await send(whole, message('pause'))
    say('pause', state=paused.status.state, text=paused.status.message.parts[0].root.text)
    say('continue', text=text_of(await send(whole, message('blue', task_id=paused.id, context_id=paused.context_id))))
    waiting = await send(polling, message('wait'))
    made = await whole.set_task_callback(TaskPushNotificationConfig(task_id=waiting.id, push_notification_config=PushNotificationConfig(id='py', url='http://127.0.0.1:9/hook')))
    read = await whole.get_task_callback(GetTaskPushNotificationConfigParams(id=waiting.id, push_notification_config_id='py'))
    say('push', id=made.push_notification_config.id, text=read.push_notification_config.url)
    say('cancel', state=(await whole.cancel_task(TaskIdParams(id=waiting.id))).status.state)
    say('extended', text=(await whole.get_card()).name)
    await refused(lambda client: A2ACardResolver(client, agent).get_agent_card())


async def newest(http):
    import jwt
    from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
    from a2a.types import CancelTaskRequest, GetTaskRequest, Message, Part, Role, SendMessageConfiguration, SendMessageRequest, TaskState
    from a2a.utils.signing import create_signature_verifier

    def find_key(kid, jku):
        return jwt.PyJWK(next(k for k in httpx.get(jku).json()['keys'] if k['kid'] == kid))

    verify = create_signature_verifier(find_key, ['EdDSA'])
    async with httpx.AsyncClient() as stranger:
        anonymous = await A2ACardResolver(stranger, agent).get_agent_card(signature_verifier=verify)
    say('anonymous', text=anonymous.name, total=len(anonymous.skills))
    card = await A2ACardResolver(http, agent).get_agent_card(signature_verifier=verify)
    say('card', text=card.name)
    client = ClientFactory(ClientConfig(httpx_client=http, supported_protocol_bindings=[binding])).create(card)
    text, last = '', ''

    def request(text, **more):
        return SendMessageRequest(message=Message(message_id=str(uuid.uuid4()), role=Role.ROLE_USER, parts=[Part(text=text)]), **more)

    async for event in client.send_message(request('one two three')):
        update = event.artifact_update
        if event.HasField('artifact_update'):
            piece = ''.join(p.text for p in update.artifact.parts)
            text = text + piece if update.append else piece
            last = last + piece if update.last_chunk else last
    say('stream', text=text)
    say('last', text=last)

    def text_of(task):
        return ''.join(p.text for a in task.artifacts for p in a.parts)

    whole = ClientFactory(ClientConfig(httpx_client=http, supported_protocol_bindings=[binding], streaming=False)).create(card)
    sent = [event.task async for event in whole.send_message(request('hello there'))][-1]
    say('send', text=text_of(sent), id=sent.id)
    say('get', text=text_of(await whole.get_task(GetTaskRequest(id=sent.id))))
    now = SendMessageConfiguration(return_immediately=True)
    waiting = [event.task async for event in whole.send_message(request('wait', configuration=now))][-1]
    cancelled = await whole.cancel_task(CancelTaskRequest(id=waiting.id))
    say('cancel', state=TaskState.Name(cancelled.status.state))
    await refused(lambda client: A2ACardResolver(client, agent).get_agent_card())


async def main():
    async with httpx.AsyncClient(headers=bearer, timeout=30) as http:
        await (older if library == '0.3' else newest)(http)


asyncio.run(main())
