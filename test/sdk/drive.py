# Drives BeeOS with the Python client that openapi-generator makes from api/openapi.yaml:
# drive.py <REST address> <key> <agent>. It prints one line per step.
import sys

import beeos_sdk
from beeos_sdk import AgentsApi, ConversationsApi, DefaultApi, InstancesApi, TasksApi

host, key, agent = sys.argv[1:]
client = beeos_sdk.ApiClient(beeos_sdk.Configuration(host=host, access_token=key))
agents, tasks, conversations = AgentsApi(client), TasksApi(client), ConversationsApi(client)

print("agents", [a.name for a in agents.list_agents().data])
print("agent", agents.get_agent(agent).data.visibility)
print("patched", agents.update_agent(agent, beeos_sdk.UpdateAgentRequest(mcpEnabled=False)).data.mcp_enabled)
print("invoked", agents.invoke_agent(agent, beeos_sdk.InvokeAgentRequest(message="hi")).data.text)
task = tasks.create_task(agent, beeos_sdk.CreateTaskRequest(message="one two"))
print("task", task.data.agent_id == agent)
print("message", tasks.list_task_messages(agent, task.data.task_id).data.messages[0].body)
print("listed", task.data.task_id in [t.task_id for t in tasks.list_user_tasks().data.tasks])
talk = conversations.create_conversation(agent, create_conversation_request=beeos_sdk.CreateConversationRequest(title="talk"))
print("conversation", conversations.get_conversation(agent, talk.data.conversation_id).data.title)
instance = InstancesApi(client).list_instances().data[0].id
print("capabilities", DefaultApi(client).get_runtime_capabilities(instance).capabilities.conversation_control)
print("operations", DefaultApi(client).list_runtime_operations(instance).operations)
try:
    agents.get_agent("nobody")
except beeos_sdk.exceptions.NotFoundException as e:
    print("refused", e.data.error.code)
