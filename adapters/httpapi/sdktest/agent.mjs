// Drives PostHog's toolkit for agents for the tests in Go: one JSON call a line on standard
// input, one JSON answer a line on standard output.
import { createInterface } from 'node:readline'
import { PostHogAgentToolkit, getToolsFromContext } from '@posthog/agent-toolkit'

console.log = console.info = console.debug = console.error

let context, tools

const calls = {
  async open({ host, key }) {
    context = new PostHogAgentToolkit({ posthogApiToken: key, posthogApiBaseUrl: host }).getContext()
    tools = await getToolsFromContext(context)
    return tools.map(tool => tool.name)
  },
  // What a tool says is text, most often of JSON; what it refuses is an error.
  async call({ tool, params }) {
    const found = tools.find(t => t.name === tool)
    try {
      const { content } = await found.handler(context, found.schema.parse(params))
      return { text: content.map(part => part.text).join('\n') }
    } catch (error) {
      return { refused: String(error?.message ?? error) }
    }
  },
}

for await (const line of createInterface({ input: process.stdin })) {
  let answer
  try {
    const { name, ...args } = JSON.parse(line)
    answer = { result: await calls[name](args) }
  } catch (error) {
    answer = { error: String(error?.stack ?? error) }
  }
  process.stdout.write(JSON.stringify(answer) + '\n')
}
process.exit(0)
