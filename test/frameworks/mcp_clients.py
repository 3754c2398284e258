"""MCP through the libraries that people build agents with: list, call, progress, and what a wrong key is told.

Arguments: client, endpoint, key. Writes a JSON object per step.

Each client below is connected as its manual says, and yields the names of the tools and a function that calls one.
"""
import asyncio
import contextlib
import json
import sys
import warnings

warnings.filterwarnings('ignore')


def joined(content):
    return ''.join(c.text for c in content)


@contextlib.asynccontextmanager
async def mcp_session(streams, seen):
    from mcp import ClientSession

    async def progress(done, total, message):
        seen.append(done)

    async with streams as (read, write, *_), ClientSession(read, write) as session:
        await session.initialize()

        async def call(name, arguments):
            return joined((await session.call_tool(name, arguments, progress_callback=progress)).content)

        yield [t.name for t in (await session.list_tools()).tools], call


def mcp_1(url, key, seen):
    from mcp.client.streamable_http import streamablehttp_client

    return mcp_session(streamablehttp_client(url, headers=bearer(key)), seen)


def mcp_1_sse(url, key, seen):
    from mcp.client.sse import sse_client

    return mcp_session(sse_client(url.removesuffix('/mcp') + '/sse', headers=bearer(key)), seen)


@contextlib.asynccontextmanager
async def mcp_2(url, key, seen):
    import httpx2
    from mcp.client import Client
    from mcp.client.streamable_http import streamable_http_client

    async def progress(done, total, message):
        seen.append(done)

    async with httpx2.AsyncClient(headers=bearer(key)) as http, Client(streamable_http_client(url, http_client=http)) as client:
        say('connected', text=client.protocol_version)

        async def call(name, arguments):
            return joined((await client.call_tool(name, arguments, progress_callback=progress)).content)

        yield [t.name for t in (await client.list_tools()).tools], call


@contextlib.asynccontextmanager
async def fastmcp(url, key, seen):
    from fastmcp import Client

    async def progress(done, total, message):
        seen.append(done)

    async with Client(url, auth=key, progress_handler=progress) as client:

        async def call(name, arguments):
            return joined((await client.call_tool(name, arguments)).content)

        yield [t.name for t in await client.list_tools()], call


@contextlib.asynccontextmanager
async def openai_agents(url, key, seen):
    from agents import Agent, RunContextWrapper
    from agents.mcp import MCPServerStreamableHttp
    from agents.tool_context import ToolContext

    async with MCPServerStreamableHttp({'url': url, 'headers': bearer(key)}) as server:
        # What a model would be offered, and what runs when it chooses.
        agent = Agent(name='caller', mcp_servers=[server])
        tools = {t.name: t for t in await agent.get_mcp_tools(RunContextWrapper(None))}

        async def call(name, arguments):
            text = json.dumps(arguments)
            result = await tools[name].on_invoke_tool(ToolContext(None, tool_name=name, tool_call_id='1', tool_arguments=text), text)
            return result['text'] if isinstance(result, dict) else str(result)

        yield list(tools), call


@contextlib.asynccontextmanager
async def pydantic_ai(url, key, seen):
    from pydantic_ai.mcp import MCPToolset

    async def progress(done, total, message):
        seen.append(done)

    async with MCPToolset(url, headers=bearer(key), progress_handler=progress) as server:
        yield [t.name for t in await server.list_tools()], server.direct_call_tool


@contextlib.asynccontextmanager
async def langchain(url, key, seen):
    from langchain_mcp_adapters.callbacks import Callbacks
    from langchain_mcp_adapters.client import MultiServerMCPClient

    async def progress(done, total, message, context):
        seen.append(done)

    server = {'transport': 'streamable_http', 'url': url, 'headers': bearer(key)}
    tools = {t.name: t for t in await MultiServerMCPClient({'helper': server}, callbacks=Callbacks(on_progress=progress)).get_tools()}

    async def call(name, arguments):
        return ''.join(block['text'] for block in await tools[name].ainvoke(arguments))

    yield list(tools), call


@contextlib.asynccontextmanager
async def smolagents(url, key, seen):
    from smolagents import MCPClient

    server = {'url': url, 'transport': 'streamable-http', 'headers': bearer(key)}
    with MCPClient(server, {'connect_timeout': adapter_timeout(key)}, structured_output=False) as found:
        tools = {t.name: t for t in found}

        async def call(name, arguments):
            return tools[name](**arguments)

        yield list(tools), call


@contextlib.asynccontextmanager
async def crewai_tools(url, key, seen):
    from crewai_tools import MCPServerAdapter

    server = {'url': url, 'transport': 'streamable-http', 'headers': bearer(key)}
    with MCPServerAdapter(server, connect_timeout=adapter_timeout(key)) as found:
        tools = {t.name: t for t in found}

        async def call(name, arguments):
            return tools[name].run(**arguments)

        yield list(tools), call


@contextlib.asynccontextmanager
async def google_adk(url, key, seen):
    from google.adk.agents import LlmAgent
    from google.adk.agents.invocation_context import InvocationContext
    from google.adk.sessions import InMemorySessionService
    from google.adk.tools.mcp_tool import McpToolset, StreamableHTTPConnectionParams
    from google.adk.tools.tool_context import ToolContext

    async def progress(done, total, message):
        seen.append(done)

    sessions = InMemorySessionService()
    session = await sessions.create_session(app_name='caller', user_id='ada')
    context = ToolContext(InvocationContext(session_service=sessions, invocation_id='1', agent=LlmAgent(name='caller'), session=session))
    toolset = McpToolset(connection_params=StreamableHTTPConnectionParams(url=url, headers=bearer(key)), progress_callback=progress)
    try:
        tools = {t.name: t for t in await toolset.get_tools()}

        async def call(name, arguments):
            result = await tools[name].run_async(args=arguments, tool_context=context)
            return ''.join(c['text'] for c in result['content'])

        yield list(tools), call
    finally:
        await toolset.close()


WRONG = 'wrong'


def adapter_timeout(key):
    """mcpadapt, which two of them use, sits its time out after a refusal."""
    return 3 if key == WRONG else 30


def bearer(key):
    return {'Authorization': f'Bearer {key}'}


def say(step, **more):
    print(json.dumps({'step': step, **more}), flush=True)


def messages(error):
    """What an error says, with those inside a group and those that caused it."""
    found = [f'{type(error).__name__}: {error}']
    for inner in [*getattr(error, 'exceptions', []), error.__cause__]:
        if inner is not None:
            found += messages(inner)
    return found


async def main(client, url, key):
    connect, seen = globals()[client], []
    async with connect(url, key, seen) as (names, call):
        say('list', tools=names)
        say('greet', text=await call('greet', {'name': 'Ada'}))
        say('ping', text=await call('ping', {}))
        say('count', text=await call('count', {}), seen=seen)
    try:
        async with connect(url, WRONG, []):
            say('refused')
    except BaseException as error:
        say('refused', error='\n'.join(messages(error)))


asyncio.run(main(*sys.argv[1:]))
