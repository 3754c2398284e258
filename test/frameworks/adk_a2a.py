"""A2A through Google's Agent Development Kit: an agent that is somewhere else, run like one of its own.

Arguments: agent, key. Writes a JSON object per step.
"""
import asyncio
import json
import sys
import warnings

import httpx
from google.adk.agents.remote_a2a_agent import RemoteA2aAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.runners import InMemoryRunner
from google.genai import types

warnings.filterwarnings('ignore')
address, key = sys.argv[1:]


def say(step, **more):
    print(json.dumps({'step': step, **more}), flush=True)


class Conversation:
    def __init__(self, http):
        self.agent = RemoteA2aAgent(name='helper', agent_card=address + '/.well-known/agent-card.json', httpx_client=http)
        self.runner = InMemoryRunner(self.agent, app_name='caller')
        self.session = None

    async def send(self, step, text, mode):
        if self.session is None:
            self.session = await self.runner.session_service.create_session(app_name='caller', user_id='ada')
        message = types.Content(role='user', parts=[types.Part(text=text)])
        whole, pieces, errors, context = '', [], [], ''
        async for event in self.runner.run_async(
            user_id='ada', session_id=self.session.id, new_message=message, run_config=RunConfig(streaming_mode=mode)
        ):
            said = ''.join(p.text or '' for p in event.content.parts) if event.content else ''
            if event.partial:
                if step == 'stream' and not pieces:
                    say('piece', text=said)
                pieces.append(said)
            else:
                whole += said
            errors.append(event.error_message or '')
            context = (event.custom_metadata or {}).get('a2a:context_id', context)
        say(step, text=whole, pieces=pieces, context=context, error='\n'.join(filter(None, errors)))


async def main():
    async with httpx.AsyncClient(headers={'Authorization': f'Bearer {key}'}, timeout=30) as http:
        conversation = Conversation(http)
        await conversation.send('send', 'hello there', StreamingMode.NONE)
        say('card', text=conversation.agent.description)
        await conversation.send('stream', 'one two three', StreamingMode.SSE)
    async with httpx.AsyncClient(headers={'Authorization': 'Bearer wrong'}, timeout=30) as http:
        await Conversation(http).send('refused', 'hello there', StreamingMode.NONE)


asyncio.run(main())
